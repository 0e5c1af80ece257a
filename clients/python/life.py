"""A locker's life and a first-come event, by a client that is generated."""

import os
import time
from datetime import datetime, timedelta, timezone

from made.client.api.participation import ad_04, ad_06, ep_01, ep_02
from made.client.api.smartlocker import qc_01, qc_03, qc_04, qc_05, qc_11, qc_12, qc_17
from made.client.client import AuthenticatedClient
from made.client.models import (
    AD04Answer,
    AD04Body,
    AD04BodyMode,
    AD06Answer,
    EP01Answer,
    EP02Answer,
    Locker,
    QC01Problem,
    QC01ProblemCode,
    QC03Body,
    QC03BodyNewStatus,
    QC03Problem,
    QC03ProblemCode,
    QC04Body,
    QC05Answer,
    QC11Body,
    Reservation,
)
from made.client.types import Unset


def client(name: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["LATCHKEY_URL"], token=os.environ[name])


OPERATOR, ADMIN = client("OPERATOR"), client("ADMIN")
PEOPLE = [client(name) for name in ("ALICE", "BOB", "CAROL")]
ALICE, BOB, _ = PEOPLE


def lockers() -> None:
    body = QC11Body(owner_id="alice", locker_id="py-1", locker_alias="hall")
    made = qc_11.sync_detailed(client=OPERATOR, body=body, idempotency_key="py-register")
    assert made.status_code == 201 and isinstance(made.parsed, Locker), made
    assert made.headers["location"] == "/lockers/py-1", made.headers
    again = qc_11.sync_detailed(client=OPERATOR, body=body, idempotency_key="py-register")
    assert again.headers["idempotency-replayed"] == "true", again

    got = qc_01.sync_detailed("py-1", client=ALICE)
    assert isinstance(got.parsed, Locker) and got.parsed.version == 1, got
    tag = got.headers["etag"]
    same = qc_01.sync_detailed("py-1", client=ALICE, if_none_match=tag)
    assert same.status_code == 304, same

    occupied = QC03Body(new_status=QC03BodyNewStatus.OCCUPIED)
    changed = qc_03.sync("py-1", client=ALICE, body=occupied, if_match=tag)
    assert isinstance(changed, Locker) and changed.version == 2, changed
    late = qc_03.sync(
        "py-1", client=ALICE, body=QC03Body(new_status=QC03BodyNewStatus.AVAILABLE, expected_version=1)
    )
    assert isinstance(late, QC03Problem) and late.current_version == 2, late
    assert late.code == QC03ProblemCode.VERSION_CONFLICT, late
    barred = qc_01.sync("py-1", client=BOB)
    assert isinstance(barred, QC01Problem) and barred.code == QC01ProblemCode.FORBIDDEN, barred

    start = datetime.now(timezone.utc) + timedelta(hours=1)
    end = start + timedelta(hours=1)
    reserving = QC04Body(owner_id="alice", start_at=start, end_at=end)
    reserved = qc_04.sync("py-1", client=ALICE, body=reserving)
    assert isinstance(reserved, Reservation), reserved
    listed = qc_05.sync("py-1", client=ALICE, start_iso=start, end_iso=end, page_size=10)
    assert isinstance(listed, QC05Answer) and listed.next_cursor is None, listed
    assert [item.reservation_id for item in listed.items] == [reserved.reservation_id], listed
    cancelled = qc_12.sync("py-1", reserved.reservation_id, client=ALICE)
    assert isinstance(cancelled, Reservation) and cancelled.status == "CANCELLED", cancelled
    assert qc_17.sync_detailed("py-1", client=ALICE).status_code == 204
    gone = qc_01.sync("py-1", client=ALICE)
    assert isinstance(gone, QC01Problem) and gone.code == QC01ProblemCode.NOT_FOUND, gone


def event() -> None:
    body = AD04Body(event_id="py-concert", title="Concert", mode=AD04BodyMode.FIRST_COME, capacity=2)
    made = ad_04.sync(client=ADMIN, body=body)
    assert isinstance(made, AD04Answer) and made.capacity_remaining == 2, made
    results = []
    for person in PEOPLE:
        asked = ep_01.sync_detailed("py-concert", client=person)
        assert asked.status_code == 202 and isinstance(asked.parsed, EP01Answer), asked
        while True:
            request = ep_02.sync(asked.parsed.request_id, client=person)
            assert isinstance(request, EP02Answer), request
            if not isinstance(request.finished_at, Unset):
                results.append(str(request.ui_result))
                break
            time.sleep(0.02)
    assert results == ["SUCCESS", "SUCCESS", "REJECTED_CAPACITY"], results
    summary = ad_06.sync("py-concert", client=ADMIN)
    assert isinstance(summary, AD06Answer), summary
    assert (summary.by_status.succeeded, summary.by_status.rejected) == (2, 1), summary


lockers()
event()
print("python: a locker's life and a first-come event")

// A locker's life and a first-come event, by a client whose types are generated.

import createClient from "openapi-fetch";
import type { components, paths } from "./made/schema.js";

declare const process: { env: Record<string, string | undefined> };

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

function client(token: string) {
  return createClient<paths>({ baseUrl: setting("LATCHKEY_URL"), headers: { authorization: `Bearer ${token}` } });
}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`it does not hold that ${what}`);
}

/** The data of an answer; a problem ends the test. */
function data<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

const operator = client(setting("OPERATOR"));
const admin = client(setting("ADMIN"));
const people = ["ALICE", "BOB", "CAROL"].map((name) => client(setting(name)));
const [alice, bob] = people;
check(alice !== undefined && bob !== undefined, "there are people");

async function lockers(): Promise<void> {
  const path = { lockerId: "ts-1" };
  const registering = { lockerId: "ts-1", ownerId: "alice", lockerAlias: "hall" };
  const header = { "Idempotency-Key": "ts-register" };
  const made = await operator.POST("/lockers", { params: { header }, body: registering });
  check(data(made).status === "AVAILABLE" && made.response.status === 201, "a new locker is available");
  check(made.response.headers.get("location") === "/lockers/ts-1", "the answer says where it is");
  const again = await operator.POST("/lockers", { params: { header }, body: registering });
  check(again.response.headers.get("idempotency-replayed") === "true", "a repeated call gets the first answer");

  const got = await alice!.GET("/lockers/{lockerId}", { params: { path } });
  const locker: components["schemas"]["Locker"] = data(got);
  const tag = got.response.headers.get("etag");
  check(tag === `"${locker.version}"`, "the tag is the version");
  const same = await alice!.GET("/lockers/{lockerId}", { params: { path, header: { "If-None-Match": tag } } });
  check(same.response.status === 304, "a caller who has the locker is told so");

  const occupied = { newStatus: "OCCUPIED" as const };
  const changed = await alice!.PUT("/lockers/{lockerId}/status", {
    params: { path, header: { "If-Match": tag } },
    body: occupied,
  });
  check(data(changed).version === 2, "a change is counted");
  const late = await alice!.PUT("/lockers/{lockerId}/status", {
    params: { path },
    body: { newStatus: "AVAILABLE", expectedVersion: 1 },
  });
  check(late.error?.code === "version-conflict" && late.error.currentVersion === 2, "an old version is refused");
  const barred = await bob!.GET("/lockers/{lockerId}", { params: { path } });
  check(barred.error?.code === "forbidden", "others may not see it");

  const [startAt, endAt] = [1, 2].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
  check(startAt !== undefined && endAt !== undefined, "there are times");
  const reserved = data(
    await alice!.POST("/lockers/{lockerId}/reservations", {
      params: { path },
      body: { ownerId: "alice", startAt, endAt },
    }),
  );
  const query = { startISO: startAt, endISO: endAt, pageSize: 10 };
  const list = data(await alice!.GET("/lockers/{lockerId}/reservations", { params: { path, query } }));
  check(list.items.length === 1 && list.nextCursor === null, "the list has the reservation");
  check(list.items[0]?.reservationId === reserved.reservationId, "it is the one that was made");
  const cancelled = await alice!.POST("/lockers/{lockerId}/reservations/{reservationId}/cancel", {
    params: { path: { ...path, reservationId: reserved.reservationId } },
  });
  check(data(cancelled).status === "CANCELLED", "a reservation can be cancelled");
  const removed = await alice!.DELETE("/lockers/{lockerId}", { params: { path } });
  check(removed.response.status === 204 && removed.error === undefined, "a locker can be removed");
  const gone = await alice!.GET("/lockers/{lockerId}", { params: { path } });
  check(gone.error?.code === "not-found", "then it is gone");
}

async function event(): Promise<void> {
  const path = { eventId: "ts-concert" };
  const body = { eventId: "ts-concert", title: "Concert", mode: "FIRST_COME" as const, capacity: 2 };
  check(data(await admin.POST("/admin/events", { body })).capacityRemaining === 2, "all seats are free");
  const results: (string | undefined)[] = [];
  for (const person of people) {
    const asked = await person.POST("/events/{eventId}/participations", { params: { path } });
    const { requestId } = data(asked);
    check(asked.response.status === 202, "a first request is accepted");
    for (;;) {
      const request = data(await person.GET("/requests/{requestId}", { params: { path: { requestId } } }));
      if (request.finishedAt !== undefined) {
        results.push(request.uiResult);
        break;
      }
      await new Promise((later) => setTimeout(later, 20));
    }
  }
  check(results.join() === "SUCCESS,SUCCESS,REJECTED_CAPACITY", `the first two get seats: ${results.join()}`);
  const summary = data(await admin.GET("/admin/events/{eventId}/summary", { params: { path } }));
  check(summary.byStatus.SUCCEEDED === 2 && summary.byStatus.REJECTED === 1, "the summary counts them");
}

await lockers();
await event();
console.log("typescript: a locker's life and a first-come event");

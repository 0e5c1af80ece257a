//! The place where a list of several partitions goes on: the last item that was shown, and which partition it is in.
//!
//! In the other partitions the list goes on behind the sort key of that item, whether or not they have such a key. A
//! partition that has been read up to this very sort key or further, or whose next item has it, keeps a place of its own.

use latchkey_table::{Key, Query, Resume};

use super::{read_place, write_place};
use crate::bug::Bug;

/// Where a list goes on.
#[derive(Debug)]
pub(crate) struct ShardPlaces {
    /// The partition of the last item that was shown, and the item.
    pub(crate) last: (usize, Resume),
    /// The partitions with a place of their own: behind an item, or at the beginning.
    pub(crate) own: Vec<(usize, Option<Resume>)>,
}

/// Writes places, each with the number of its partition.
pub(super) fn write(
    queries: &[Query],
    places: &ShardPlaces,
    bytes: &mut Vec<u8>,
) -> Result<(), Bug> {
    let (last, resume) = &places.last;
    let own = places.own.iter().map(|(shard, resume)| (shard, resume.as_ref()));
    for (shard, resume) in std::iter::once((last, Some(resume))).chain(own) {
        let number = u8::try_from(*shard);
        bytes.push(number.map_err(|_| Bug::new("there are too many partitions"))?);
        bytes.push(u8::from(resume.is_some()));
        if let Some(resume) = resume {
            let query =
                queries.get(*shard).ok_or_else(|| Bug::new("a place is in no partition"))?;
            write_place(query, resume, bytes)?;
        }
    }
    Ok(())
}

/// The place in each partition.
pub(super) fn read(queries: &[Query], mut bytes: &[u8]) -> Option<Vec<Option<Resume>>> {
    let (last, resume) = one(queries, &mut bytes)?;
    let resume = resume?;
    let mut places: Vec<Option<Resume>> =
        queries.iter().map(|query| Some(behind(query, &resume))).collect();
    *places.get_mut(last)? = Some(resume);
    while !bytes.is_empty() {
        let (shard, resume) = one(queries, &mut bytes)?;
        *places.get_mut(shard)? = resume;
    }
    Some(places)
}

fn one(queries: &[Query], bytes: &mut &[u8]) -> Option<(usize, Option<Resume>)> {
    let ([shard, there], rest) = bytes.split_first_chunk::<2>()?;
    *bytes = rest;
    let shard = usize::from(*shard);
    let resume = match there {
        0 => None,
        1 => Some(read_place(queries.get(shard)?, bytes)?),
        _ => return None,
    };
    Some((shard, resume))
}

/// The place in another partition that has the same sort key. No item need be there.
fn behind(query: &Query, resume: &Resume) -> Resume {
    let moved = |key: &Key| Key { partition: query.partition.clone(), sort: key.sort.clone() };
    let Some(index_key) = &resume.index_key else {
        return Resume { key: moved(&resume.key), index_key: None };
    };
    let mut key = resume.key.clone();
    // An attribute of both keys has one value.
    let names = &query.table.key;
    let index = query.index.as_ref().and_then(|name| query.table.index(name));
    let shared = index.map(|index| &index.key.partition.name);
    if shared == Some(&names.partition.name) {
        key.partition = query.partition.clone();
    } else if shared.is_some() && shared == names.sort.as_ref().map(|sort| &sort.name) {
        key.sort = query.partition.clone();
    }
    Resume { key, index_key: Some(moved(index_key)) }
}

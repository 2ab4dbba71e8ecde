import { sql } from 'drizzle-orm'
import { liveLimits } from '../../shared/config'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { liveObjects } from '../schema/system'
import { toLiveObjectName } from './live-request'

/** Selects the agents that run or wait for an approval: only they have watchers. */
export const selectWatchedAgents = (): Statement<{ agentId: AccountId }[]> =>
  manySql(
    { agentId: activations.agentId },
    sql`FROM ${activations} WHERE ${activations.state} IN ('running', 'parked')
      GROUP BY ${activations.agentId}`,
  )

const markWatched = prepare((v: Params<{ name: string; now: number }>) =>
  write(sql`INSERT INTO live_objects (name, watched_at) VALUES (${v.name}, ${v.now})
    ON CONFLICT (name) DO UPDATE SET watched_at = excluded.watched_at
    WHERE watched_at < excluded.watched_at - ${liveLimits.markedMs}`),
)

const selectIsWatched = prepare((v: Params<{ name: string }>) =>
  mapStatement(
    oneSql(
      { name: liveObjects.name },
      sql`FROM ${liveObjects} WHERE ${liveObjects.name} = ${v.name}`,
    ),
    (found) => found !== undefined,
  ),
)

const markUnwatched = prepare((v: Params<{ name: string; now: number }>) =>
  write(sql`DELETE FROM live_objects WHERE name = ${v.name}
    AND watched_at < ${v.now} - ${liveLimits.unmarkedMs}`),
)

/**
 * Notes that somebody is about to watch a topic; writes nothing where that was noted a moment ago. Commit it before the
 * watcher's snapshot is read: what is written before it is in the snapshot, and what is written after it is published.
 */
export const watchTopic = (topic: string, now: number): Statement<void> =>
  markWatched({ name: toLiveObjectName(topic), now })

/** Selects whether a topic can have watchers. Put it into the batch that writes what they are notified of. */
export const selectIsTopicWatched = (topic: string): Statement<boolean> =>
  selectIsWatched({ name: toLiveObjectName(topic) })

/** Notes that nobody watches a topic or its neighbours, unless somebody is about to. */
export const endWatching = (topic: string, now: number): Statement<void> =>
  markUnwatched({ name: toLiveObjectName(topic), now })

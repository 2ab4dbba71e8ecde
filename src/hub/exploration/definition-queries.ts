import { and, eq, sql } from 'drizzle-orm'
import type { DefinitionFacts } from '../../agents/contract/agents'
import { orm, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { explorers, schedules } from '../schema/exploration'
import { toMatch } from './to-match'

type ExplorationFacts = NonNullable<DefinitionFacts['exploration']>

/** Settings of an agent that does not explore. */
const noExploration: ExplorationFacts = {
  weight: 0,
  intervalMs: 0,
  minConfidence: 0,
  communities: [],
  follows: [],
  words: [],
  wantsQuestions: true,
  wantsDiscussions: true,
}

function upsertExplorer(
  accountId: AccountId,
  facts: ExplorationFacts | null | undefined,
  now: number,
): Statement<void> {
  const settings = { ...(facts ?? noExploration), updatedAt: now }
  const row = { ...settings, match: toMatch(settings.words) }
  return write(
    orm
      .insert(explorers)
      .values({ ...row, accountId })
      .onConflictDoUpdate({ target: explorers.accountId, set: row }),
  )
}

/**
 * Stores exploration and schedules of an agent's definition. An agent that no longer explores keeps its
 * row with a weight of 0, so that the next sweep reports the change to the scheduler.
 */
export function putExplorationStatements(
  agentId: AccountId,
  { exploration, schedules: entries }: DefinitionFacts,
  now: number,
): Statement<void>[] {
  const list = JSON.stringify(entries)
  return [
    upsertExplorer(agentId, exploration, now),
    write(
      orm
        .delete(schedules)
        .where(
          and(
            eq(schedules.accountId, agentId),
            sql`${schedules.key} NOT IN (SELECT value ->> 'key' FROM json_each(${list}))`,
          ),
        ),
    ),
    write(
      insertSelect(
        schedules,
        {
          accountId: agentId,
          key: sql`value ->> 'key'`,
          cron: sql`value ->> 'cron'`,
          timezone: sql`value ->> 'timezone'`,
          task: sql`value ->> 'task'`,
          // With a due time of 0 the scheduler computes the first due time.
          dueAt: 0,
        },
        sql`FROM json_each(${list})`,
        { verb: 'INSERT OR IGNORE' },
      ),
    ),
  ]
}

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { isStoppedAccountSql, isStoppedSql } from '../bans/ban-sql'
import { awaitsProviderSql } from '../outages/wait-sql'

/** Columns of a row of `agents`. */
type Agent = Record<'accountId' | 'isPaused', SQLWrapper>

/** What holds an agent's runs back, each for itself. */
export const holdsSql = (agent: Agent, now: SQLWrapper) => ({
  /** By an admin. */
  isPaused: sql`${agent.isPaused}`,
  /** Until its provider is back. */
  awaitsProvider: awaitsProviderSql(agent.accountId),
  /** Its account is disabled, banned or muted. */
  isStopped: isStoppedSql(agent.accountId, now),
})

/** Whether an agent starts no run, whatever its tasks and budgets are. */
export function isAgentHeldSql(agent: Agent, now: SQLWrapper): SQL {
  const { isPaused, awaitsProvider, isStopped } = holdsSql(agent, now)
  return sql`(${isPaused} OR ${awaitsProvider} OR ${isStopped})`
}

/**
 * The same for a query that has the columns of the account at hand.
 *
 * @param account the columns of its account
 */
export const isHeldSql = (
  { accountId, isPaused }: Agent,
  account: Parameters<typeof isStoppedAccountSql>[0],
  now: SQLWrapper,
): SQL =>
  sql`(${isPaused} OR ${awaitsProviderSql(accountId)} OR ${isStoppedAccountSql(account, now)})`

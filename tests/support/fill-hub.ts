import type { D1Database } from '@cloudflare/workers-types'

/** How much a hub has. */
export interface Size {
  posts: number
  accounts: number
  /** Of the accounts. */
  agents: number
  inboxItems: number
}

export interface Cast {
  now: number
  olga: string
  scout: string
}

/** Rows that one statement inserts. */
const CHUNK = 10_000

const id = (letter: string) => `printf('00000000-0000-7000-${letter}000-%012d', i)`
const member = `printf('00000000-0000-7000-a000-%012d', i % (?3 ->> 'accounts'))`
/** Times of the rows: about a thousand a day, until now. */
const at = `((?3 ->> 'now') - 90000 * ((?3 ->> 'end') - i))`

/** Statements by what they insert: a row for each `i`. ?3 is JSON of the values. */
const inserts = {
  accounts: `INSERT INTO accounts (id, name, kind, created_at)
    SELECT ${id('a')}, 'crowd-' || i, iif(i % 2, 'agent', 'human'), ${at} FROM n`,
  agents: `INSERT INTO agents (account_id, definition_version, definition_etag, model, grants, interval_ms, updated_at)
    SELECT printf('00000000-0000-7000-a000-%012d', i * 2 + 1), 1, 'etag', 'offline/extractive', '["hub:read"]', 0, 0 FROM n`,
  posts: `INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, upvotes, created_at)
    SELECT ${id('9')}, (SELECT id FROM communities WHERE name = iif(i % 3, 'general', 'agent-learnings')),
      iif(i % 50, ${member}, iif(i % 100, (?3 ->> 'olga'), (?3 ->> 'scout'))), 'Notes of day ' || i,
      'The text of a day' || iif(i % 400, '', ' with a lantern'), i % 97, i % 7, ${at} FROM n`,
  comments: `INSERT INTO comments (id, post_id, author_id, content, created_at)
    SELECT ${id('b')}, ${id('9')}, iif(i % 50, ${member}, iif(i % 100, (?3 ->> 'olga'), (?3 ->> 'scout'))), 'A remark on this day', ${at} FROM n`,
  votes: `INSERT INTO votes (account_id, post_id, value, created_at)
    SELECT ${member}, ${id('9')}, 1, ${at} FROM n`,
  mentions: `INSERT INTO mentions (post_id, comment_id, account_id, created_at)
    SELECT ${id('9')}, '', iif(i % 10, ${member}, (?3 ->> 'scout')), ${at} FROM n`,
  inboxItems: `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, content, created_at, read_at, claimed_by, is_task)
    SELECT ${id('c')}, iif(i % 4, ${member}, iif(i % 8, (?3 ->> 'olga'), (?3 ->> 'scout'))), 'mention', ${id('9')},
      (?3 ->> 'olga'), 'text', ${at}, iif(i % 32 = 4 AND i < 1500, NULL, 1), iif(i % 8 = 4, NULL, 'run-' || i), i % 8 <> 4 FROM n`,
  activations: `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, post_id,
      started_at, deadline_at, finished_at, outcome)
    SELECT ${id('d')}, iif(i % 4, ${member}, (?3 ->> 'scout')), 'inbox', 'mention', 'done', 'granted', 'offline/extractive', 1, ${id('9')},
      ${at}, ${at} + 1, ${at} + 1, 'completed' FROM n`,
  usage: `INSERT INTO usage_events (activation_id, call, account_id, model, task, input_tokens, cached_tokens,
      output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated, duration_ms, created_at)
    SELECT ${id('d')}, 1, iif(i % 4, ${member}, (?3 ->> 'scout')), 'offline/extractive', 'mention', 1, 0, 1, 0, 1, 1, 0, 1, ${at} FROM n`,
  spending: `INSERT INTO requester_spending (requester, spent_microusd, spent_tokens) SELECT ${id('a')}, i, i FROM n`,
  audit: `INSERT INTO audit_log (id, account_id, activation_id, call_id, tool, "grant", arguments_hash, decision, outcome, created_at)
    SELECT ${id('e')}, iif(i % 4, ${member}, (?3 ->> 'scout')), ${id('d')}, 'call', 'hub_search', 'hub:read', 'hash', 'allowed', 'ok', ${at} FROM n`,
  adminLog: `INSERT INTO admin_log (id, account_id, action, target_type, target_id, created_at)
    SELECT ${id('f')}, (?3 ->> 'olga'), 'policy.set', 'account', ${member}, ${at} FROM n`,
}

export const emptyHub: Size = { posts: 0, accounts: 0, agents: 0, inboxItems: 0 }

/** The size of a hub with so many posts: more accounts and agents than a page shows, also in a small one. */
export const sizeOf = (posts: number): Size => ({
  posts,
  accounts: 200 + Math.ceil(posts / 50),
  agents: 100 + Math.ceil(posts / 100),
  inboxItems: posts,
})

/** As the last sweep leaves it: what was spent on behalf of whom is counted until now. */
const markCounted = `UPDATE requester_spending_progress SET (budget_id, starts_at) = (w.budget_id, w.starts_at), counted_until = ?1
  FROM budgets b JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?1 AND w.ends_at > ?1
  WHERE b.scope = 'hub' AND b.period = 'month'`

/** Adds rows to a hub until it has this size. */
export async function fillHub(
  db: Pick<D1Database, 'prepare'>,
  size: Size,
  before: Size,
  { now, olga, scout }: Cast,
): Promise<void> {
  // What there was is older than what is added, as its numbers say.
  await db.prepare('UPDATE posts SET created_at = created_at - 1e10').run()
  const counts = (of: Size): Record<keyof typeof inserts, number> => ({
    accounts: of.accounts,
    spending: of.accounts,
    agents: of.agents,
    inboxItems: of.inboxItems,
    posts: of.posts,
    comments: of.posts,
    votes: of.posts,
    mentions: of.posts,
    activations: of.posts,
    usage: of.posts,
    audit: of.posts,
    adminLog: of.posts,
  })
  for (const [name, insert] of Object.entries(inserts)) {
    const table = name as keyof typeof inserts
    const end = counts(size)[table]
    for (let from = counts(before)[table]; from < end; from += CHUNK) {
      const to = Math.min(end, from + CHUNK)
      await db
        .prepare(
          `WITH RECURSIVE n (i) AS (SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - iif(?3 IS NULL, 0, 1)) ${insert}`,
        )
        .bind(from, to, JSON.stringify({ accounts: size.accounts, now, end, olga, scout }))
        .run()
    }
  }
  await db.prepare(markCounted).bind(now).run()
}

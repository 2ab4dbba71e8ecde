import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import type { PostId } from '../../shared/ids'
import { accountRef } from './accounts'
import { communityRef } from './communities'

/** How a delivery shows that it comes from who has the secret. */
export const verifications = ['standard', 'github', 'bearer'] as const

/** Addresses at which other services post in a community or give an agent a task. */
export const triggers = sqliteTable(
  'triggers',
  {
    id: text('id').primaryKey(),
    /** The author of the posts, or the requester of the tasks. */
    accountId: accountRef('account_id').notNull(),
    /** Either a community or an agent. */
    communityId: communityRef('community_id'),
    agentId: accountRef('agent_id'),
    /** Empty for one that takes reviews. */
    template: text('template').notNull(),
    /** Reviews of pull requests continue the threads from which the agent pushed their branches. */
    takesReviews: integer('takes_reviews', { mode: 'boolean' }).notNull().default(false),
    verify: text('verify', { enum: verifications }).notNull(),
    perHourMax: integer('per_hour_max').notNull(),
    /** Which secret it has. Those before are accepted until these times, the newest first. */
    secretVersion: integer('secret_version').notNull().default(1),
    oldSecretsUntil: text('old_secrets_until', { mode: 'json' })
      .$type<number[]>()
      .notNull()
      .default([]),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    index('triggers_by_account').on(table.accountId, table.createdAt),
    index('triggers_by_community')
      .on(table.communityId, table.createdAt)
      .where(sql`${table.communityId} IS NOT NULL`),
    index('triggers_by_agent').on(table.agentId).where(sql`${table.agentId} IS NOT NULL`),
  ],
)

/** What became of a delivery: `ignored`: it asks nothing; `owner`: of an account that must not do it any more; `refused`: for the reason in its note. */
export const deliveryOutcomes = [
  'accepted',
  'ping',
  'ignored',
  'signature',
  'late',
  'replayed',
  'limit',
  'owner',
  'body',
  'refused',
] as const

/** What was sent to triggers, without its body. */
export const triggerDeliveries = sqliteTable(
  'trigger_deliveries',
  {
    id: text('id').primaryKey(),
    triggerId: text('trigger_id').notNull(),
    /** The id that the sender gave, or the hash of the body; null for what started nothing. */
    deliveryKey: text('delivery_key'),
    /** The hash of a body whose signature is not for its id. */
    bodyKey: text('body_key'),
    event: text('event'),
    at: integer('at').notNull(),
    outcome: text('outcome', { enum: deliveryOutcomes }).notNull(),
    /** More about the outcome. */
    note: text('note'),
    postId: text('post_id').$type<PostId>(),
  },
  (table) => [
    unique().on(table.deliveryKey, table.triggerId),
    unique().on(table.bodyKey, table.triggerId),
    index('trigger_deliveries_of').on(table.triggerId, table.at, table.id),
    index('trigger_deliveries_old').on(table.at),
  ],
)

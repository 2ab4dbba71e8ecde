import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import type { ArgumentRule } from '../contract/argument-rules'
import { accounts } from './accounts'
import { communities } from './communities'

/** Calls that need no approval until a time. Triggers end the rules of who can no longer approve. */
export const standingRules = sqliteTable(
  'standing_rules',
  {
    id: text('id').primaryKey(),
    agentId: text('agent_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    tool: text('tool').notNull(),
    grant: text('grant').notNull(),
    tier: text('tier', { enum: ['read', 'write', 'destructive'] }).notNull(),
    arguments: text('arguments', { mode: 'json' }).$type<ArgumentRule[]>().notNull(),
    /** Hash of the tool's definition when the rule was made. */
    toolHash: text('tool_hash').notNull(),
    /** Null: outside of communities, unless the rule holds anywhere. */
    communityId: text('community_id')
      .$type<CommunityId>()
      .references(() => communities.id),
    /** Null: whoever requests. */
    requesterId: text('requester_id')
      .$type<AccountId>()
      .references(() => accounts.id),
    /** The run whose call it was made from; null for a call with a key. */
    activationId: text('activation_id').$type<ActivationId>(),
    createdBy: text('created_by')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
    createdAt: integer('created_at').notNull(),
    endsAt: integer('ends_at').notNull(),
    /** Why it ended before its time; null: it did not. */
    ended: text('ended', { enum: ['revoked', 'creator'] }),
    /** Holds in any community, and outside of communities. */
    isAnywhere: integer('is_anywhere', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    index('standing_rules_for').on(table.agentId, table.tool).where(sql`${table.ended} IS NULL`),
    index('standing_rules_by').on(table.createdBy).where(sql`${table.ended} IS NULL`),
    index('standing_rules_new').on(sql`${table.createdAt} DESC`, sql`${table.id} DESC`),
  ],
)

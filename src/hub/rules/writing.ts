import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Answers, batch, run, type Statements } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import { AppError } from '../../shared/errors'
import { formatExact } from '../../shared/format'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import {
  type ConstraintErrors,
  findFailedConstraint,
  toConstraintError,
} from '../database/constraint-errors'
import { unfiltered } from '../database/unfiltered-sql'
import { systemAccountId } from '../schema/accounts'
import { communities } from '../schema/communities'
import { moderationGuard } from '../schema/moderation'
import { posts } from '../schema/posts'
import { fromWriterRestrictionsSql, restrictionFields } from '../viewers/ban-sql'

/** What an account is about to write. */
export interface Writing {
  accountId: AccountId
  /** The run of an agent, whose requesters must be allowed to write there too; null for everybody else. */
  activationId: ActivationId | null
  communityId: CommunityId
  /** A mute allows votes. */
  act: 'post' | 'comment' | 'edit' | 'vote'
  /** The thread of a comment; null for everything else. */
  threadId: string | null
  /** Milliseconds since the Unix epoch. */
  now: number
}

const c = alias(communities, 'c')
const p = alias(posts, 'p')

type WritingOperands = Readonly<Record<keyof Writing, SQLWrapper>>

const bansOfWritingSql = (v: WritingOperands) =>
  sql`${fromWriterRestrictionsSql(v, v.communityId, v.now)} AND (${restrictionFields.kind} = 'ban' OR ${v.act} <> 'vote') ORDER BY ${restrictionFields.kind}, ${restrictionFields.endsAt} IS NULL DESC, ${restrictionFields.endsAt} DESC LIMIT 1`

/** Why an account must not write this, as the name of a constraint, or NULL. */
export const writingRefusalSql = (v: WritingOperands): SQL => sql`coalesce(
          (SELECT iif(${restrictionFields.kind} = 'ban', 'writing_banned', 'writing_muted') ${bansOfWritingSql(v)}),
          (SELECT 'writing_system' FROM ${communities} ${c} WHERE ${v.act} = 'post' AND ${c.id} = ${v.communityId}
            AND ${c.isSystem} = 1 AND ${v.accountId} <> ${sql.raw(`'${systemAccountId}'`)}),
          (SELECT iif(${p.deletedAt} IS NULL, 'writing_locked', 'writing_deleted') FROM ${posts} ${p} ${unfiltered('guarded write')}
            WHERE ${p.id} = ${v.threadId} AND (${p.isLocked} = 1 OR ${p.deletedAt} IS NOT NULL)))`

/**
 * Fails its batch when the account must not write this: because of a ban or a mute of its own or of a
 * requester of its run, because only the hub posts in the community, or because the thread is locked or
 * deleted. `writingConstraints` are its errors.
 */
export const guardWriting: (writing: Writing) => Statement<void> = prepare((v: Params<Writing>) =>
  write(
    insertSelect(
      moderationGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${writingRefusalSql(v)} AS name) WHERE name IS NOT NULL`,
    ),
  ),
)

/** A mute or ban that keeps an account from writing. */
type ActiveBan = RowOf<typeof restrictionFields>

/** Selects the longest ban, or else mute, that keeps the account from writing this. */
const selectActiveBan: (writing: Writing) => Statement<ActiveBan | undefined> = prepare(
  (v: Params<Writing>) => oneSql(restrictionFields, bansOfWritingSql(v)),
)

/** Where an author appeals. */
export const appealHint = 'You can appeal once at /moderation/mine.'

const done = { ban: 'banned', mute: 'muted' } as const

/** Errors of writing where an account may not, as users read them. */
const banErrors = {
  active: (ban: ActiveBan, writer: AccountId, cause?: unknown) => {
    const { kind, reason, endsAt, communityId, accountId, accountName } = ban
    const place = communityId === null ? 'on this hub' : 'in this community'
    const end = endsAt === null ? 'until it is lifted' : `until ${formatExact(endsAt)}`
    const isOwn = accountId === writer
    const who = isOwn ? 'You are' : `@${accountName}, who asked for this, is`
    return new AppError(
      kind === 'ban' ? 'BANNED' : 'MUTED',
      `${who} ${done[kind]} ${place} ${end}. Reason: ${reason}`,
      {
        hint: isOwn
          ? appealHint
          : 'An agent writes nothing where one of its requesters must not write.',
        cause,
      },
    )
  },
}

const notWritten =
  (message: string, hint: string, code: 'BANNED' | 'MUTED' | 'FORBIDDEN' = 'FORBIDDEN') =>
  (cause: unknown) =>
    new AppError(code, message, { hint, cause })

/** Errors of the constraints that `guardWriting` fails. */
export const writingConstraints: ConstraintErrors = {
  writing_banned: notWritten('You are banned here.', appealHint, 'BANNED'),
  writing_muted: notWritten('You are muted here.', appealHint, 'MUTED'),
  writing_system: notWritten(
    'Only the hub itself posts in this community.',
    'You can comment on its posts. Post in another community.',
  ),
  writing_locked: notWritten(
    'This thread is locked.',
    'Create a new post and link to this thread.',
  ),
  writing_deleted: (cause) => new AppError('NOT_FOUND', 'There is no such post.', { cause }),
}

const banNames = new Set(['writing_banned', 'writing_muted'])

/**
 * Runs a write that `guardWriting` is part of. When a ban or a mute refuses it, the error has its reason
 * and its end.
 *
 * @throws BANNED or MUTED with its reason, and what the write throws
 */
export async function explainBan<Result>(
  db: Db,
  writing: Writing,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const name = error instanceof AppError ? findFailedConstraint(error.cause) : null
    if (name === null || !banNames.has(name)) throw error
    const ban = await run(db, selectActiveBan(writing))
    throw ban ? banErrors.active(ban, writing.accountId, error) : error
  }
}

/**
 * Sends statements in one batch with their guard.
 *
 * @throws BANNED or MUTED with the reason when the account must not write this
 */
export const writeGuarded = <Batch extends Statements>(
  db: Db,
  writing: Writing,
  statements: Batch,
): Promise<Answers<Batch>> =>
  explainBan(db, writing, async () => {
    try {
      return await batch(db, { '#guard': guardWriting(writing), ...statements })
    } catch (error) {
      throw toConstraintError(error, writingConstraints) ?? error
    }
  })

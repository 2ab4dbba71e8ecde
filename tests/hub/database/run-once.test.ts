import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { accountErrors } from '../../../src/hub/accounts/names'
import { insertAccount, selectAccountById, selectAccounts } from '../../../src/hub/accounts/queries'
import {
  findStoredResult,
  type IdempotentRequest,
  runOnce,
} from '../../../src/hub/database/run-once'
import { run } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import type { AccountId } from '../../../src/shared/ids'

const db = createDb(env.DB)
const now = Date.UTC(2026, 0, 1)

const insert = (name: string) => {
  const id = `id-of-${name}` as AccountId
  return {
    account: insertAccount({ id, name, kind: 'human', createdAt: now }),
    found: selectAccountById({ id }),
  }
}

const request = (key: string | null, input: string): IdempotentRequest => ({
  accountId: 'requester',
  key,
  action: 'test.create',
  input,
})

test('a repeated request gets the stored answer and writes nothing', async () => {
  const first = await runOnce(db, request('k1', 'once'), {
    now,
    answer: { name: 'once' },
    statements: insert('once'),
  })
  expect(first).toMatchObject({ isDuplicate: false, results: { found: { name: 'once' } } })
  const again = await runOnce(db, request('k1', 'once'), {
    now,
    answer: { name: 'other' },
    statements: insert('never-written'),
  })
  expect(again).toEqual({ answer: { name: 'once' }, isDuplicate: true, results: null })
  expect(
    await run(db, selectAccountById({ id: 'id-of-never-written' as AccountId })),
  ).toBeUndefined()
})

test('the same key with another input is refused', async () => {
  await runOnce(db, request('k2', 'a'), { now, answer: 1, statements: {} })
  const other = runOnce(db, request('k2', 'b'), { now, answer: 2, statements: {} })
  await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
})

test('a failed constraint becomes the error for the user, and the key stays unused', async () => {
  await runOnce(db, request(null, 'taken'), { now, answer: 1, statements: insert('taken') })
  const statements = {
    account: insertAccount({
      id: 'another' as AccountId,
      name: 'Taken',
      kind: 'human',
      createdAt: now,
    }),
  }
  const constraints = { 'accounts.name': accountErrors.nameTaken }
  for (const key of [null, 'k3']) {
    const refused = runOnce(db, request(key, 'taken'), { now, answer: 2, statements, constraints })
    await expect(refused).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This name is taken.',
    })
  }
  expect(await findStoredResult(db, request('k3', 'taken'))).toBeNull()
})

test('accounts are filtered by kind, staleness, notifications and host', async () => {
  await run(
    db,
    insertAccount({
      id: 'busy' as AccountId,
      name: 'busy-agent',
      kind: 'agent',
      lastActivatedAt: now,
      createdAt: now,
    }),
  )
  await env.DB.prepare(
    `INSERT INTO agents (account_id, definition_version, definition_etag, model, grants, is_paused, updated_at)
     VALUES ('busy', 1, 'etag', 'offline/extractive', '[]', 1, 0)`,
  ).run()
  const list = async (filter: Partial<Parameters<typeof selectAccounts>[0]>) =>
    (await run(db, selectAccounts({ after: 0, limit: 100, ...filter }))).map(({ name }) => name)
  expect(await list({ kind: 'agent' })).toContain('busy-agent')
  expect(await list({ kind: 'human' })).not.toContain('busy-agent')
  expect(await list({ isHosted: true })).toEqual(['busy-agent'])
  expect(await list({ activatedBefore: now })).not.toContain('busy-agent')
  expect(await list({ activatedBefore: now + 1 })).toContain('busy-agent')
  expect(await list({ hasNotifications: true })).toEqual([])
  const account = await run(db, selectAccountById({ id: 'busy' as AccountId }))
  expect(account).toMatchObject({
    model: 'offline/extractive',
    isPaused: true,
    notificationCount: 0,
    metadata: {},
  })
})

import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { insertAccount, selectOwnAccount } from '../../../src/hub/accounts/queries'
import { adminAccountId } from '../../../src/hub/schema/accounts'
import { expireKey, insertKey, selectKeys } from '../../../src/hub/sign-in/key-queries'
import { insertSession, selectOpened } from '../../../src/hub/sign-in/queries'
import { type Credential, selectViewer } from '../../../src/hub/viewers/queries'
import { batch, run } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import type { AccountId } from '../../../src/shared/ids'

const db = createDb(env.DB)
const now = Date.UTC(2026, 0, 1)
const accountId = 'account-of-viewer' as AccountId

const key = (hash: string, rest: Partial<Credential> = {}): Credential => ({
  hash,
  isSession: false,
  isAdminKey: false,
  adminKeyHash: '',
  ...rest,
})

await batch(db, {
  account: insertAccount({ id: accountId, name: 'viewer', kind: 'human', createdAt: now }),
  key: insertKey({
    id: 'key-1',
    accountId,
    hash: 'hash-1',
    kind: 'key',
    scopes: ['read'],
    createdAt: now,
    expiresAt: now + 1_000,
  }),
})

test('a key is the account that it belongs to, until it expires', async () => {
  expect(await run(db, selectViewer(key('hash-1'), now))).toEqual({
    id: accountId,
    name: 'viewer',
    kind: 'human',
    role: 'guest',
    displayName: null,
    avatarId: null,
    ownerId: null,
    keyId: 'key-1',
    scopes: ['read'],
    lastUsedAt: null,
    isDisabled: false,
    isPending: false,
    restriction: null,
  })
  expect(await run(db, selectViewer(key('hash-1', { isSession: true }), now))).toBeUndefined()
  expect(await run(db, selectViewer(key('hash-1'), now + 1_000))).toBeUndefined()
  expect(await run(db, selectOwnAccount(key('hash-1'), now))).toMatchObject({ name: 'viewer' })
  expect(await run(db, selectOwnAccount(null, now))).toBeUndefined()
})

test('the admin key needs no row', async () => {
  expect(await run(db, selectViewer(key('none', { isAdminKey: true }), now))).toMatchObject({
    id: adminAccountId,
    role: 'admin',
    keyId: null,
    scopes: ['read', 'write'],
  })
})

test('a session has the scopes of its key and ends with it', async () => {
  const session = {
    id: 's-1',
    hash: 'hash-s',
    label: 'Firefox on Linux',
    createdAt: now,
    expiresAt: now + 5_000,
  }
  const { isOpened, opened, isUnknownOpened } = await batch(db, {
    isOpened: insertSession(session, { hash: 'hash-1', kind: 'key' }, ''),
    isUnknownOpened: insertSession(
      { ...session, id: 's-2', hash: 'x' },
      { hash: 'hash-1', kind: 'link' },
      '',
    ),
    opened: selectOpened('s-1'),
  })
  expect([isOpened, isUnknownOpened]).toEqual([true, false])
  expect(opened).toEqual({ accountId, expiresAt: now + 1_000 })
  const asSession = key('hash-s', { isSession: true })
  expect(await run(db, selectViewer(asSession, now))).toMatchObject({ scopes: ['read'] })
  await run(db, expireKey(accountId, 'key-1', now + 10))
  expect(await run(db, selectViewer(asSession, now + 9))).toBeDefined()
  expect(await run(db, selectViewer(asSession, now + 10))).toBeUndefined()
  expect(await run(db, selectKeys(accountId, now + 9))).toMatchObject([{ id: 'key-1' }])
  expect(await run(db, selectKeys(accountId, now + 10))).toEqual([])
})

import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createPrivateFiles } from '../../../src/mcp-servers/storage/private-files'
import type { AccountId } from '../../../src/shared/ids'
import { scoutAtWork } from '../../support/fake-hub-api'
import { testFileStores } from '../../support/file-stores'
import { setUpTools } from '../../support/set-up-tools'

const { answer, call } = setUpTools()
const files = createPrivateFiles(env.FILES)
const alice = 'account-alice' as AccountId
const bob = 'account-bob' as AccountId
let accounts = 0
const someone = (): ToolCaller => ({
  ...scoutAtWork,
  accountId: `account-s${++accounts}` as AccountId,
})
const inDm = (me: ToolCaller, reader: AccountId): ToolCaller => ({
  ...me,
  privacy: { reader, privateTo: reader },
})
const inThread = (me: ToolCaller, reader: AccountId | null): ToolCaller => ({
  ...me,
  privacy: { reader, privateTo: null },
})
const save = (caller: ToolCaller, path: string, content: string, ifMatch?: string) =>
  answer('workspace_write_file', { path, content, if_match: ifMatch }, caller)
const contentFor = async (caller: ToolCaller, path: string): Promise<string | null> => {
  const read = await call('workspace_read_file', { path }, caller)
  return read.isError ? null : JSON.parse(read.text).content
}

test('T2: a file is for runs of others only while its owner shares it', async () => {
  const me = someone()
  const { accountId: agent } = me
  await save(inDm(me, alice), 'notes/a.md', 'quinces')
  expect(await files.list(agent, alice)).toMatchObject([{ path: 'notes/a.md', sharedAt: null }])
  expect(await files.list(agent, bob)).toEqual([])
  expect(await files.share(agent, bob, 'notes/a.md', 5)).toBe('missing')
  expect(await files.unshare(agent, bob, 'notes/a.md')).toBe('missing')
  expect(await files.delete(agent, bob, 'notes/a.md')).toBe('missing')

  for (const at of [7, 8]) expect(await files.share(agent, alice, 'notes/a.md', at)).toBe('done')
  for (const caller of [inThread(me, bob), inThread(me, null), inDm(me, alice)]) {
    expect(await contentFor(caller, 'notes/a.md')).toBe('quinces')
  }
  expect(await files.list(agent, alice)).toMatchObject([{ path: 'notes/a.md', sharedAt: 7 }])
  for (const change of [files.unshare, files.delete]) {
    expect(await change(agent, bob, 'notes/a.md')).toBe('missing')
  }
  for (const _ of [1, 2]) expect(await files.unshare(agent, alice, 'notes/a.md')).toBe('done')
  expect(await contentFor(inThread(me, bob), 'notes/a.md')).toBeNull()
  expect(await contentFor(inDm(me, alice), 'notes/a.md')).toBe('quinces')
  expect(await files.delete(agent, alice, 'notes/a.md')).toBe('done')
  expect(await contentFor(inDm(me, alice), 'notes/a.md')).toBeNull()
})

test('T2: sharing replaces no file, and what a run changed since is no longer the account’s', async () => {
  const me = someone()
  const { accountId: agent } = me
  await save(inDm(me, alice), 'plan', 'mine')
  await save(inThread(me, bob), 'plan', 'ours')
  expect(await files.share(agent, alice, 'plan', 1)).toBe('taken')
  expect(await contentFor(inThread(me, bob), 'plan')).toBe('ours')
  expect(await contentFor(inDm(me, alice), 'plan')).toBe('mine')

  await save(inDm(me, alice), 'list', 'one')
  expect(await files.share(agent, alice, 'list', 1)).toBe('done')
  const { etag } = await answer('workspace_read_file', { path: 'list' }, inThread(me, bob))
  await save(inThread(me, bob), 'list', 'two', etag)
  expect(await files.unshare(agent, alice, 'list')).toBe('missing')
  expect(await contentFor(inThread(me, bob), 'list')).toBe('two')
  expect((await files.list(agent, alice)).map(({ path }) => path)).toEqual(['plan'])
})

test('T2: a move that was interrupted is finished by the next one', async () => {
  const me = someone()
  const { accountId: agent } = me
  await save(inDm(me, alice), 'a', 'x')
  await files.share(agent, alice, 'a', 1)
  // The private copy was not deleted.
  await env.FILES.put(`private-workspace/${agent}/${alice}/a`, 'x')
  expect(await files.share(agent, alice, 'a', 2)).toBe('done')
  expect(await files.list(agent, alice)).toMatchObject([{ path: 'a', sharedAt: 1 }])
  await env.FILES.put(`private-workspace/${agent}/${alice}/a`, 'x')
  expect(await files.unshare(agent, alice, 'a')).toBe('done')
  expect(await files.list(agent, alice)).toMatchObject([{ path: 'a', sharedAt: null }])
})

test('T10: files and long results of an account go from the bucket, those of others stay', async () => {
  const me = someone()
  const { accountId: agent } = me
  const { results } = testFileStores
  await save(inDm(me, alice), 'private', 'CANARY')
  await save(inDm(me, alice), 'shared', 'CANARY')
  await files.share(agent, alice, 'shared', 1)
  await save(inDm(me, bob), 'private', 'of bob')
  await save(inThread(me, null), 'public', 'of all')
  const mine = await results.keep(agent, 'CANARY', alice)
  const own = await results.keep(alice, 'CANARY', null)
  const other = await results.keep(agent, 'of all', null)
  await env.FILES.put(`workspace/${alice}/own`, 'CANARY')

  for (const _ of [1, 2]) await files.deleteAll(alice)
  const { objects } = await env.FILES.list()
  for (const { key } of objects) {
    expect(await (await env.FILES.get(key))?.text(), key).not.toContain('CANARY')
  }
  expect(await results.find(agent, mine, alice)).toBeNull()
  expect(await results.find(alice, own, null)).toBeNull()
  expect(await results.find(agent, other, null)).not.toBeNull()
  expect(await contentFor(inDm(me, bob), 'private')).toBe('of bob')
  expect(await contentFor(inThread(me, bob), 'public')).toBe('of all')
})

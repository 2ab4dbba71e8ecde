import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createWorkspaces, type Workspace } from '../../../src/mcp-servers/storage/workspace'
import type { AccountId } from '../../../src/shared/ids'
import { scoutAtWork } from '../../support/fake-hub-api'
import { setUpTools } from '../../support/set-up-tools'

const { call, answer } = setUpTools()
let accounts = 0
/** An account with an empty folder. */
const someone = (): ToolCaller => ({
  ...scoutAtWork,
  accountId: `account-p${++accounts}` as AccountId,
})
const write = (caller: ToolCaller, path: string, content: string, ifMatch?: string) =>
  call('workspace_write_file', { path, content, if_match: ifMatch }, caller)
const listOf = async (caller: ToolCaller, args: object = {}) =>
  (await answer('workspace_list_files', args, caller)).files.map(
    (file: { path: string }) => file.path,
  )

const alice = 'account-alice' as AccountId
const bob = 'account-bob' as AccountId
const inDm = (caller: ToolCaller, reader: AccountId): ToolCaller => ({
  ...caller,
  privacy: { reader, privateTo: reader },
})
const inThread = (caller: ToolCaller, reader: AccountId | null): ToolCaller => ({
  ...caller,
  privacy: { reader, privateTo: null },
})

test('T2: a file of a private run is there for its requester, and for nobody else', async () => {
  const me = someone()
  const file = await answer('workspace_write_file', { path: 'a', content: 'x' }, inDm(me, alice))
  expect(file.private).toBe(true)
  for (const caller of [inDm(me, alice), inThread(me, alice)]) {
    expect(await listOf(caller)).toEqual(['a'])
    const read = await call('workspace_read_file', { path: 'a' }, caller)
    expect(read.isPrivate).toBe(true)
    expect(JSON.parse(read.text)).toMatchObject({ content: 'x', private: true })
  }
  for (const caller of [inDm(me, bob), inThread(me, bob), inThread(me, null), me]) {
    expect(await listOf(caller)).toEqual([])
    for (const prefix of ['../', `../../private-workspace/${me.accountId}/`, '/', alice]) {
      expect(await listOf(caller, { prefix })).toEqual([])
    }
    const read = await call('workspace_read_file', { path: 'a' }, caller)
    expect(read.text).toMatch(/^Error: There is no such file/)
    expect(await answer('workspace_delete_file', { path: 'a' }, caller)).toMatchObject({
      deleted: false,
    })
  }
  expect(await listOf(inDm(me, alice))).toEqual(['a'])
})

test('T2: a private run copies a shared file that it changes, and others keep theirs', async () => {
  const me = someone()
  const shared = await answer('workspace_write_file', { path: 'plan', content: 'one' }, me)
  const blind = await write(inDm(me, alice), 'plan', 'two')
  expect(blind.text).toMatch(/^Error: The file plan already exists/)
  const stale = await write(inDm(me, alice), 'plan', 'two', '0'.repeat(32))
  expect(stale.text).toMatch(/^Error: The file plan has changed since/)
  expect((await write(inDm(me, alice), 'plan', 'two', shared.etag)).isError).toBe(false)
  const contentFor = async (caller: ToolCaller) =>
    (await answer('workspace_read_file', { path: 'plan' }, caller)).content
  expect(await contentFor(inThread(me, alice))).toBe('two')
  expect(await contentFor(inThread(me, bob))).toBe('one')
  // a public run would write a file that its requester cannot see
  const hidden = await write(inThread(me, alice), 'plan', 'three', shared.etag)
  expect(hidden.text).toMatch(/^Error: The file plan is private to the requester/)
  await answer('workspace_delete_file', { path: 'plan' }, inDm(me, alice))
  expect(await contentFor(inDm(me, alice))).toBe('one')
})

test('T2: private files count for the limits of the folder', async () => {
  const limits = { filesMax: 2, fileBytesMax: 1024, bytesMax: 2048 }
  const { accountId } = someone()
  const open = createWorkspaces(env.FILES, limits)
  const put = (path: string, owner: AccountId | null) =>
    open(accountId, { reader: owner, privateTo: owner }, false).write(path, new Uint8Array(1), null)
  await put('a', alice)
  await put('a', bob)
  await expect(put('b', null)).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(put('b', alice)).rejects.toMatchObject({ code: 'CONFLICT' })
})

/** Returns all pages of a list. Every page but the last is full. */
async function listPages(
  workspace: Workspace,
  { prefix, limit }: { prefix: string; limit: number },
) {
  const found: { path: string; isPrivate: boolean }[] = []
  for (let after: string | null = null; found.length < 50; ) {
    const { files, hasMore } = await workspace.list({ prefix, after, limit })
    found.push(...files.map(({ path, isPrivate = false }) => ({ path, isPrivate })))
    if (!hasMore) break
    expect(files.length).toBe(limit)
    after = files.at(-1)?.path ?? null
  }
  return found
}

test('T2: lists of private and shared files are those of a simple model, on every page', async () => {
  // of these U+FFFD comes before U+1F600 in UTF-8, and after it in UTF-16
  const order = ['a', 'a/b', 'a/c', 'b', 'b-', 'c/d', 'z\ufffd', 'z\u{1f600}']
  const path = fc.constantFrom(...order)
  const step = fc.record({
    path,
    content: fc.constantFrom('one', 'two'),
    owner: fc.constantFrom(null, alice, bob),
    isDeleted: fc.boolean(),
  })
  const query = fc.record({
    reader: fc.constantFrom(null, alice, bob),
    limit: fc.integer({ min: 1, max: 4 }),
    prefix: fc.constantFrom('', 'a', 'a/', 'z'),
  })
  const workspaces = createWorkspaces(env.FILES)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), query, async (steps, asked) => {
      const { accountId } = someone()
      const model = new Map<string, Map<string, string>>()
      const folderOf = (owner: AccountId | null) => {
        const folder = model.get(owner ?? '') ?? new Map<string, string>()
        model.set(owner ?? '', folder)
        return folder
      }
      for (const { path, content, owner, isDeleted } of steps) {
        const folder = workspaces(accountId, { reader: owner, privateTo: owner }, false)
        const seen = await folder.read(path)
        const own = folderOf(owner)
        const text = own.get(path) ?? folderOf(null).get(path)
        expect(seen && new TextDecoder().decode(seen.content)).toBe(text ?? null)
        if (isDeleted) {
          expect(await folder.remove(path)).toBe(text !== undefined)
          if (!own.delete(path)) folderOf(null).delete(path)
          continue
        }
        await folder.write(path, new TextEncoder().encode(content), seen?.etag ?? null)
        // a file that has this content already is not copied
        if (text !== content) own.set(path, content)
      }
      const { reader, prefix } = asked
      const expected = [...new Set([...folderOf(null).keys(), ...folderOf(reader).keys()])]
        .filter((each) => each.startsWith(prefix))
        .sort((a, b) => order.indexOf(a) - order.indexOf(b))
      const found = await listPages(
        workspaces(accountId, { reader, privateTo: null }, false),
        asked,
      )
      expect(found).toEqual(
        expected.map((each) => ({
          path: each,
          isPrivate: reader !== null && folderOf(reader).has(each),
        })),
      )
    }),
    { numRuns: 60 },
  )
})

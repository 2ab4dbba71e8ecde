import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { noPrivacy } from '../../../src/hub/contract/hub'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { readPath } from '../../../src/mcp-servers/servers/workspace'
import { createWorkspaces } from '../../../src/mcp-servers/storage/workspace'
import type { AccountId } from '../../../src/shared/ids'
import { scoutAtWork } from '../../support/fake-hub-api'
import { setUpTools } from '../../support/set-up-tools'

const { call, answer } = setUpTools()
let accounts = 0
/** An account with an empty folder. */
const someone = (): ToolCaller => ({
  ...scoutAtWork,
  accountId: `account-w${++accounts}` as AccountId,
})
const write = (caller: ToolCaller, path: string, content: string, ifMatch?: string) =>
  call('workspace_write_file', { path, content, if_match: ifMatch }, caller)
const listOf = async (caller: ToolCaller, args: object = {}) =>
  (await answer('workspace_list_files', args, caller)).files.map(
    (file: { path: string }) => file.path,
  )

test('M1: a file that was written can be listed, read and deleted', async () => {
  const me = someone()
  const file = await answer('workspace_write_file', { path: 'notes/a.md', content: 'Grüße ✓' }, me)
  expect(file).toMatchObject({ path: 'notes/a.md', bytes: 11 })
  expect((await answer('workspace_list_files', {}, me)).files).toEqual([file])
  const read = await answer('workspace_read_file', { path: 'notes/a.md' }, me)
  expect(read).toEqual({ ...file, encoding: 'text', content: 'Grüße ✓', next_offset: null })
  expect(await answer('workspace_delete_file', { path: 'notes/a.md' }, me)).toMatchObject({
    deleted: true,
  })
  expect(await answer('workspace_delete_file', { path: 'notes/a.md' }, me)).toMatchObject({
    deleted: false,
  })
  expect((await call('workspace_read_file', { path: 'notes/a.md' }, me)).text).toMatch(
    /^Error: There is no such file/,
  )
})

test('M1: a file that has changed since it was read is not overwritten', async () => {
  const me = someone()
  const first = await answer('workspace_write_file', { path: 'plan', content: 'one' }, me)
  expect((await write(me, 'plan', 'blind')).text).toMatch(/^Error: The file plan already exists/)
  const second = await write(me, 'plan', 'two', first.etag)
  expect(second.isError, second.text).toBe(false)
  expect((await write(me, 'plan', 'three', first.etag)).text).toMatch(
    /^Error: The file plan has changed since/,
  )
  expect((await answer('workspace_read_file', { path: 'plan' }, me)).content).toBe('two')
  expect((await write(me, 'gone', 'x', first.etag)).text).toMatch(
    /^Error: The file gone no longer exists/,
  )
})

test('M1: an if_match that is no etag overwrites nothing', async () => {
  const me = someone()
  const { etag } = await answer('workspace_write_file', { path: 'plan', content: 'one' }, me)
  for (const any of ['*', `"${etag}"`, `${etag},*`, 'W/*', '']) {
    const { text } = await write(me, 'plan', 'blind', any)
    expect(text).toMatch(/^Error: Invalid arguments for workspace_write_file: if_match: /)
  }
  expect((await answer('workspace_read_file', { path: 'plan' }, me)).content).toBe('one')
})

test('M1: of two that write at once one is told', async () => {
  const me = someone()
  const { etag } = await answer('workspace_write_file', { path: 'plan', content: 'start' }, me)
  const both = await Promise.all(['left', 'right'].map((text) => write(me, 'plan', text, etag)))
  expect(both.filter(({ isError }) => isError)).toHaveLength(1)
})

test('M1: the same write again, after a lost answer, is no mistake', async () => {
  const me = someone()
  const { etag } = await answer('workspace_write_file', { path: 'a', content: 'one' }, me)
  expect((await write(me, 'a', 'one')).isError).toBe(false)
  const done = await write(me, 'a', 'two', etag)
  expect((await write(me, 'a', 'two', etag)).text).toBe(done.text)
})

test.each([
  '/etc/passwd',
  '../other',
  'a/../../b',
  'a/./b',
  'a//b',
  'a/',
  '.',
  '..',
  'a\\b',
  '..\\b',
  'a\u0000b',
  'a\nb',
  'a\u202eb',
  'a\u200bb',
  'a\u2028b',
  '\ud800',
  ' a',
  'a/ b',
  'x'.repeat(301),
  '',
])('M1: %j is no path, for no tool of the workspace', async (path) => {
  const me = someone()
  for (const [tool, args] of [
    ['read_file', {}],
    ['write_file', { content: 'x' }],
    ['delete_file', {}],
  ] as const) {
    const { text } = await call(`workspace_${tool}`, { path, ...args }, me)
    expect(text).toMatch(new RegExp(`^Error: Invalid arguments for workspace_${tool}: path: `))
  }
})

test('M1: whatever is written as a path stays in the folder', () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom('.', '..', '', 'a'),
  )
  void fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
      const read = readPath(parts.join('/'))
      if (!read.ok) return
      expect(new URL(read.path.replaceAll(/[?#%]/g, '_'), 'r2://h/account/').href).toMatch(
        /^r2:\/\/h\/account\/./,
      )
      expect(readPath(read.path)).toEqual(read)
    }),
  )
})

test('M1: two paths that look the same are the same', async () => {
  const me = someone()
  await answer('workspace_write_file', { path: 'caf\u00e9', content: 'x' }, me)
  expect((await answer('workspace_read_file', { path: 'cafe\u0301' }, me)).content).toBe('x')
})

test('M1: nobody sees the files of another, whatever they ask for', async () => {
  const me = someone()
  const other = someone()
  await answer('workspace_write_file', { path: 'secret', content: 'mine' }, me)
  expect(await listOf(other)).toEqual([])
  for (const prefix of ['', '../', `../${me.accountId}/`, `workspace/${me.accountId}`]) {
    expect(await listOf(other, { prefix })).toEqual([])
    expect(await listOf(other, { cursor: `../${prefix}` })).toEqual([])
  }
  // of an account whose id begins like this one's
  const longer: ToolCaller = { ...other, accountId: `${other.accountId}-more` as AccountId }
  await answer('workspace_write_file', { path: 'theirs', content: '' }, longer)
  expect(await listOf(other)).toEqual([])
})

test('M1: a list comes in pages, each file once', async () => {
  const me = someone()
  const paths = ['a', 'b/1', 'b/2', 'c', 'd']
  for (const path of paths) await answer('workspace_write_file', { path, content: path }, me)
  const first = await answer('workspace_list_files', { limit: 2 }, me)
  expect(first.next_cursor).toBe('b/1')
  expect(await listOf(me, { cursor: first.next_cursor })).toEqual(['b/2', 'c', 'd'])
  expect(await listOf(me, { prefix: 'b/' })).toEqual(['b/1', 'b/2'])
})

test('M1: a large file is read in parts that fit, and bytes as base64', async () => {
  const me = someone()
  const content = '"\u0001✓'.repeat(12_000)
  await answer('workspace_write_file', { path: 'big', content }, me)
  let read = ''
  let offset: number | null = 0
  for (let part = 0; part < 20 && offset !== null; part++) {
    const page: { content: string; next_offset: number | null } = await answer(
      'workspace_read_file',
      { path: 'big', offset, limit: 32 * 1024 },
      me,
    )
    read += page.content
    offset = page.next_offset
  }
  expect(read).toBe(content)
  const bytes = btoa(String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte)))
  await answer('workspace_write_file', { path: 'bin', content: bytes, encoding: 'base64' }, me)
  expect((await call('workspace_read_file', { path: 'bin' }, me)).text).toBe(
    'Error: bin is not text. Read it with encoding base64.',
  )
  expect(
    await answer('workspace_read_file', { path: 'bin', encoding: 'base64' }, me),
  ).toMatchObject({
    content: bytes,
    bytes: 256,
  })
})

test('M1: a folder has room for so many files and bytes, and says what to do', async () => {
  const limits = { filesMax: 3, fileBytesMax: 1024, bytesMax: 2048 }
  const folder = createWorkspaces(env.FILES, limits)(someone().accountId, noPrivacy, false)
  const put = (path: string, bytes: number, ifMatch: string | null = null) =>
    folder.write(path, new Uint8Array(bytes), ifMatch)
  await expect(put('large', 1025)).rejects.toMatchObject({
    code: 'TOO_LARGE',
    message: expect.stringContaining('at most 1 KiB'),
  })
  const { etag } = await put('a', 1024)
  await put('b', 1000)
  await expect(put('c', 25)).rejects.toMatchObject({ code: 'CONFLICT' })
  await put('c', 24)
  await expect(put('d', 0)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/^Your folder is full: .* at most 3 files/),
  })
  await put('a', 1000, etag)
  expect((await folder.list({ prefix: '', after: null, limit: 9 })).files).toHaveLength(3)
})

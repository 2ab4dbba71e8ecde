import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { call, createAccount, post, waitForReply, waitForValue } from '../../support/cast'
import {
  createAgent,
  eventsOf,
  long,
  numbered,
  running,
  slowly,
  typesOf,
  watch,
} from './watch-agents'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

describe('L22: the words of an agent while it writes them', () => {
  test('L22: a watcher sees them before the answer is committed, and everything in order', async () => {
    await createAgent('poet', [
      { calls: [{ name: 'hub_search', arguments: { query: 'tide' } }] },
      slowly(long, { reasoning: 'They ask about the sea.' }),
    ])
    const asked = await post(mira.key, 'Tides', '@poet when?')
    const id = await running(asked)
    const watcher = await watch(id)
    await waitForValue(async () => watcher.text().length > 12, 'words')
    expect(long.startsWith(watcher.text())).toBe(true)
    expect(watcher.text().length).toBeLessThan(long.length)
    expect(
      (
        await env.DB.prepare('SELECT count(*) AS n FROM comments WHERE post_id = ?')
          .bind(asked)
          .first<{ n: number }>()
      )?.n,
    ).toBe(0)
    await waitForValue(async () => watcher.isClosed(), 'the end')
    expect(watcher.text()).toBe(long)
    expect(watcher.heard[0]?.type).toBe('hello')
    expect(watcher.heard.at(-1)?.type).toBe('over')
    const types = typesOf(watcher.heard)
    for (const type of [
      'tool-call',
      'tool-progress',
      'tool-result',
      'step-finish',
      'plan',
      'response',
      'reasoning-delta',
      'doing',
    ]) {
      expect(types, type).toContain(type)
    }
    expect(types.indexOf('tool-call')).toBeLessThan(types.indexOf('tool-result'))
    expect((await waitForReply(asked, 'poet')).content).toContain(long)
  })

  test('L22: words within a tenth of a second come together', async () => {
    await createAgent('quick', [slowly('word '.repeat(60), { pieceMs: 2, pieceChars: 1 })])
    const asked = await post(mira.key, 'Quick', '@quick go')
    const watcher = await watch(await running(asked))
    await waitForValue(async () => watcher.isClosed(), 'the end')
    const deltas = watcher.heard.filter(({ type }) => type === 'text-delta')
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.length).toBeLessThan(60)
    expect(watcher.text()).toBe('word '.repeat(60))
  })

  test('L22 H16: who comes late gets the text so far and every event, in one piece', async () => {
    await createAgent('talker', [slowly(long)])
    const asked = await post(mira.key, 'Late', '@talker go')
    const id = await running(asked)
    const early = await watch(id)
    await waitForValue(async () => early.text().length > 12, 'words')
    const late = await watch(id)
    await waitForValue(async () => late.text().length > 0, 'the text so far')
    const first = late.heard.find(({ type }) => type === 'text-delta')
    expect(first?.from).toBe(0)
    expect(String(first?.text).length).toBeGreaterThan(6)
    await waitForValue(async () => early.isClosed() && late.isClosed(), 'the end')
    expect(late.text()).toBe(long)
    expect(numbered(late)).toEqual(numbered(early))
    expect(numbered(late)).toEqual(await eventsOf(id))
  })

  test('L22: who comes first while the model pauses gets the text so far', async () => {
    await createAgent('pauser', [slowly(long, { fault: 'comments', pieceMs: 1 })])
    const asked = await post(mira.key, 'Pause', '@pauser go')
    const id = await running(asked)
    // The half that the model writes before its pause arrives meanwhile; nothing tells of it without a watcher.
    await scheduler.wait(1_000)
    const watcher = await watch(id)
    await waitForValue(async () => watcher.text().length > 12, 'the text so far')
    expect(long.startsWith(watcher.text())).toBe(true)
    await call('POST', `/api/v1/activations/${id}/cancel`, { key: mira.key, body: {} })
    await waitForValue(async () => watcher.isClosed(), 'the end')
  })

  test('L22: credentials in words, results and arguments never reach a watcher, whole or in part', async () => {
    const secret = `sk-${'Zz9'.repeat(12)}`
    await createAgent('leaky', [
      {
        text: `Searching ${secret} now`,
        calls: [{ name: 'hub_search', arguments: { query: secret } }],
      },
      slowly(`The key is ${secret}, as I said.`, {
        pieceMs: 120,
        pieceChars: 9,
        reasoning: `Hm, ${secret}.`,
      }),
    ])
    const asked = await post(mira.key, 'Leak', '@leaky go')
    const id = await running(asked)
    const watcher = await watch(id)
    await waitForValue(async () => watcher.isClosed(), 'the end')
    const all = JSON.stringify(watcher.heard)
    expect(all).not.toContain('Zz9Zz9')
    expect(watcher.text()).toContain('The key is [withheld], as I said.')
    expect(JSON.stringify(await eventsOf(id))).not.toContain('Zz9Zz9')
  })

  test('L22 M9: on the thread there is no reasoning, and no arguments or results of tools', async () => {
    await post(mira.key, 'Lagoon facts', 'The lagoon is four fathoms deep, says quartzite.')
    await createAgent('private', [
      {
        reasoning: 'Secretly planning.',
        calls: [{ name: 'hub_search', arguments: { query: 'quartzite' } }],
      },
      slowly('It is deep.', { pieceMs: 100, reasoning: 'Still thinking.' }),
    ])
    const asked = await post(mira.key, 'Depth', '@private how deep?')
    const id = await running(asked)
    const [thread, full, stranger] = await Promise.all([
      watch(id, 'view=thread'),
      watch(id),
      watch(id, 'view=full', null),
    ])
    await waitForValue(
      async () => [thread, full, stranger].every((each) => each.isClosed()),
      'the end',
    )
    const seen = JSON.stringify([thread.heard, stranger.heard])
    expect(stranger.text()).toContain('It is deep.')
    for (const hidden of ['planning', 'Still thinking', 'quartzite'])
      expect(seen).not.toContain(hidden)
    expect(thread.text()).toContain('It is deep.')
    expect(numbered(thread).map(({ seq }) => seq)).toEqual(numbered(full).map(({ seq }) => seq))
    expect(JSON.stringify(full.heard)).toContain('quartzite')
    expect(JSON.stringify(full.heard)).toContain('Still thinking')
    const late = await Promise.all([watch(id, 'view=thread'), watch(id, 'view=full', null)])
    await waitForValue(async () => late.every((each) => each.isClosed()), 'the replay')
    for (const { heard } of late)
      for (const hidden of ['planning', 'Still thinking', 'quartzite'])
        expect(JSON.stringify(heard)).not.toContain(hidden)
    for (const each of late) expect(numbered(each)).toEqual(numbered(thread))
  })

  test('L22: watchers of one activation receive no events of another', async () => {
    await createAgent('left', [slowly('Left words, many of them, for a while.')])
    await createAgent('right', [slowly('Right words, many of them, for a while.')])
    const [a, b] = await Promise.all([
      post(mira.key, 'Left', '@left go'),
      post(mira.key, 'Right', '@right go'),
    ])
    const [left, right] = await Promise.all([
      watch(await running(a ?? '')),
      watch(await running(b ?? '')),
    ])
    await waitForValue(async () => left.isClosed() && right.isClosed(), 'the ends')
    expect(JSON.stringify(left.heard)).not.toContain('Right')
    expect(JSON.stringify(right.heard)).not.toContain('Left')
    expect(left.text()).toContain('Left words')
  })
})

import { describe, expect, test } from 'vitest'
import { operations } from '../../../src/hub/dialect/operations'
import { adminKey, createTestHub } from '../create-test-hub'
import fieldsBefore from './answer-fields.json'
import { createDialectHub, ways } from './create-dialect-hub'
import { listFields, playOperations } from './play-operations'

const toCamel = (path: string) => path.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/** The fields of a post's community, which is a text at `/`. */
const isOfPlace = (path: string, all: string[]) => {
  const above = /^(.*\.)?submolt\.[^.]+$/.exec(path)
  return above !== null && all.includes(`${above[1] ?? ''}submolt_name`)
}

describe('H3: answers have every field that existing clients have read since before', () => {
  const cases = [
    ...ways.atRoot.map((way) => ({ ...way, isAtRoot: true })),
    ...ways.below.map((way) => ({ ...way, isAtRoot: false })),
  ]

  test.each(cases)('H3: $way, at $base', async ({ isAtRoot, ...way }) => {
    const dialect = createDialectHub()
    const run = `${way.tag}${isAtRoot ? 'r' : 'b'}`
    const names = { ada: `ada-${run}`, bea: `bea-${run}`, hana: `hana-${run}` }
    const keys = {
      ada: (await dialect.join(names.ada)).key,
      bea: (await dialect.join(names.bea)).key,
      hana: (await dialect.join(names.hana, 'human')).key,
    }
    const given = { run, ...names }
    const played = await playOperations(dialect.as({ ...way }), given, keys)
    const fields: Record<string, Set<string>> = {}
    for (const { step, answer } of played) {
      expect(answer.status, `${step.name} ${answer.text}`).toBeLessThan(300)
      const found = listFields(answer.body)
      fields[step.name] = new Set([...(fields[step.name] ?? []), ...found])
      if (answer.body.data) expect(answer.body.pagination.count).toBe(answer.body.data.length)
    }
    const missing = Object.entries(fieldsBefore).flatMap(([name, before]) => {
      const all = before.split(' ')
      return all
        .filter((path) => !isAtRoot || !isOfPlace(path, all))
        .flatMap((path) => [path, ...(/(^|\.)metadata\./.test(path) ? [] : [toCamel(path)])])
        .filter((path) => !fields[name]?.has(path))
        .map((path) => `${name}: ${path}`)
    })
    expect(missing).toEqual([])
  })
})

test('H3: which mentioned agents were not woken is a list of sentences', () => {
  const facts = {
    isAtRoot: true,
    isService: false,
    isFlat: false,
    needsClaim: false,
    keyPrefix: 'rookery_',
    karma: new Map(),
  }
  const notWoken = [{ name: 'ada', reason: 'It is paused.' }]
  for (const [theirs, name] of [
    ['POST /posts', 'post'],
    ['POST /posts/:id/comments', 'comment'],
  ] as const) {
    const { answer } = operations.find((operation) => operation.theirs === theirs) ?? {}
    const object = { id: '1', community: null, author: null }
    expect(answer?.({ [name]: object, not_woken: notWoken }, facts), theirs).toMatchObject({
      notes: ['@ada was not woken. It is paused.'],
    })
    expect(answer?.({ [name]: object, not_woken: [] }, facts)).not.toHaveProperty('notes')
  }
})

test('H3: the ban of an account is lifted by deleting it, and its id is answered', async () => {
  const dialect = createDialectHub()
  await dialect.join('spammer', 'human')
  for (const base of ['/compat', '/compat/api/v1']) {
    const path = `${base}/agents/spammer/bans`
    const sent = { key: adminKey, body: { kind: 'mute', reason: 'Spam' } }
    const { id } = (await dialect.send(path, sent)).body.ban
    const lifted = await dialect.send(`${path}/${id}`, { key: adminKey, method: 'DELETE' })
    expect(lifted).toMatchObject({ status: 200, body: { success: true, deleted: id } })
    expect(lifted.body).not.toHaveProperty('ban')
  }
})

test('H3: how far an answer is has the name of who was asked, as a text', async () => {
  const dialect = createDialectHub()
  const { key } = await dialect.join('mira', 'human')
  await dialect.join('asked', 'human')
  const body = { submolt: 'general', title: 'Plums?', content: '@asked Are they ripe?' }
  const { post } = (await dialect.send('/compat/posts', { key, body })).body
  for (const more of ['', '&agent=asked']) {
    const answer = await dialect.send(`/compat/answers?post_id=${post.id}${more}`, { key })
    expect(answer).toMatchObject({ status: 200, body: { agent: 'asked', state: 'waiting' } })
    expect(answer.body).not.toHaveProperty('account')
  }
})

test('H3: below /api/v1, with a key of the hub, no answer has a field of the dialect', async () => {
  const hub = createTestHub()
  const ada = await hub.join('plain-ada')
  const mira = await hub.join('plain-mira', 'human')
  const write = async (path: string, method: string, body: object, key = mira.key) =>
    (await hub.call(path, { key, method, body })).body
  const answers: unknown[] = []
  answers.push(await write('/communities', 'POST', { name: 'plain' }))
  const made = await write('/posts', 'POST', {
    community: 'plain',
    title: 'Plain',
    content: '@plain-ada',
  })
  const at = `/posts/${made.post.id}`
  answers.push(made)
  answers.push(await write(`${at}/comments`, 'POST', { content: 'Yes' }, ada.key))
  answers.push(await write(`${at}/vote`, 'PUT', { value: 1 }, ada.key))
  answers.push(await write('/accounts/plain-mira/follow', 'PUT', {}, ada.key))
  answers.push(await write('/communities/plain/subscription', 'PUT', {}, ada.key))
  answers.push(await write('/conversations', 'POST', { to: 'plain-mira', content: 'Hi' }, ada.key))
  for (const path of [
    '/me',
    '/me/keys',
    '/accounts',
    '/accounts/plain-ada',
    '/communities',
    '/communities/plain',
    '/communities/plain/feed',
    '/posts',
    `${at}?include_comments=true`,
    `${at}/comments`,
    '/feed',
    '/feed/discover',
    '/search?q=plain',
    '/home',
    '/inbox',
    '/inbox/count',
    '/conversations',
    '/conversations/requests',
    '/communities/nothing',
    '/posts/nothing',
  ]) {
    answers.push((await hub.call(path, { key: mira.key })).body)
  }
  const fields = answers.flatMap((answer) => listFields(answer))
  expect(fields.length).toBeGreaterThan(300)
  const foreign =
    /[A-Z]|submolt|(^|[.\]])(data|pagination|agents?|notifications|author_name)\b|^message$/
  expect(fields.filter((path) => foreign.test(path))).toEqual([])
})

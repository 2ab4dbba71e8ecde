import { beforeAll, describe, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { Actor } from '../../../src/hub/contract/hub'
import { showsText } from '../../../src/shared/texts'
import { signIn } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()
const api = createHubApi(() => hub.context())
let ada: Awaited<ReturnType<typeof hub.join>>
let bob: Awaited<ReturnType<typeof hub.join>>
let postId: string
beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  const body = { community: 'general', title: 'One' }
  postId = (await hub.call('/posts', { key: ada.key, body })).body.post.id
})

/** Characters without a shape, by their names. */
const empty: [name: string, text: string][] = [
  ['spaces', '  \t\u00a0\u3000'],
  ['zero width space', '\u200b'],
  ['zero width joiners', '\u200c\u200d\u2060'],
  ['byte order mark', '\ufeff'],
  ['soft hyphen', '\u00ad'],
  ['direction marks', '\u200e\u200f\u061c\u202e\u2066\u2069'],
  ['braille pattern blank', '\u2800'],
  ['hangul fillers', '\u3164\uffa0\u115f\u1160'],
  ['mongolian vowel separator', '\u180e'],
  ['variation selectors', '\ufe0f\u{e0100}'],
  ['tags', '\u{e0041}\u{e007f}'],
  ['combining grapheme joiner', '\u034f'],
  ['interlinear annotation', '\ufff9\ufffb'],
  ['khmer inherent vowels', '\u17b4\u17b5'],
  ['shorthand and musical controls', '\u{1bca0}\u{1d173}\u{1d159}'],
  ['controls', '\u0001\u0007\u007f\u0085'],
]

test.each(empty)('texts: %s show nothing, also together with the others', (_name, text) => {
  expect(showsText(text)).toBe(false)
  expect(showsText(text + empty.map(([, each]) => each).join(''))).toBe(false)
  expect(showsText(`${text}x`)).toBe(true)
})

test.each(['x', '.', '請', 'ก', '\u0301', '👩‍👩‍👧', '❤️', '\ufffd', '⠁', 'ㅤㄱ', '\ue000', '-'])(
  'texts: %s shows something',
  (text) => expect(showsText(text)).toBe(true),
)

interface Field {
  path: string
  method?: string
  body: (text: string) => object
  by?: 'bob'
}

/** Fields whose text has to show something. */
const fields: Record<string, Field> = {
  'title of a post': { path: '/posts', body: (title) => ({ community: 'general', title }) },
  comment: { path: '/posts/:id/comments', body: (content) => ({ content }) },
  message: { path: '/conversations', body: (message) => ({ to: 'bob', content: message }) },
  'display name': {
    path: '/me',
    method: 'PATCH',
    body: (display_name) => ({ display_name }),
  },
  'name of a community': {
    path: '/communities',
    body: (display_name) => ({ name: 'corner', display_name }),
  },
  'reason of a report': { path: '/posts/:id/report', body: (reason) => ({ reason }), by: 'bob' },
}

describe.each(Object.entries(fields))('what shows nothing is refused: %s', (name, field) => {
  test.each(empty)('texts: %s', async (_kind, text) => {
    // A display name of spaces is none.
    if (name === 'display name' && text.trim() === '') return
    const response = await hub.call(field.path.replace(':id', postId), {
      key: field.by === 'bob' ? bob.key : ada.key,
      method: field.method ?? 'POST',
      body: field.body(text),
    })
    expect([response.status, response.body.code]).toEqual([400, 'VALIDATION'])
  })
})

test('texts: in forms, too, which say so at the field', async () => {
  const browser = await signIn(hub, ada.key)
  for (const [, text] of empty) {
    hub.clock.advance(60_000)
    const reply = await browser.send(`/p/${postId}/comments`, { content: text })
    expect(reply.status).toBe(400)
    expect(await reply.text()).toContain('The reply must not be empty.')
    const post = await browser.send('/posts-new', { community: 'general', title: text })
    expect(post.status).toBe(400)
    expect(await post.text()).toContain('Write a title or a text.')
  }
})

const halves: [sent: string, kept: string][] = [
  ['a\ud83d', 'a\ufffd'],
  ['\ude00 a', '\ufffd a'],
  ['a\ud83db\ude00', 'a\ufffdb\ufffd'],
  ['a\0b', 'a\ufffdb'],
  ['😀', '😀'],
]

test.each(halves)('texts: %j is answered and stored as %j, by every way in', async (sent, kept) => {
  hub.clock.advance(60_000)
  const made = await hub.call(`/posts/${postId}/comments`, {
    key: ada.key,
    body: { content: sent },
  })
  expect(made.body.comment.content).toBe(kept)
  const { id } = made.body.comment
  expect((await hub.call(`/comments/${id}`)).body.comment.content).toBe(kept)
  const described = await hub.call('/me', {
    key: ada.key,
    method: 'PATCH',
    body: { description: sent, metadata: { note: sent } },
  })
  const me = await hub.call('/me', { key: ada.key })
  expect([described.body.account.description, me.body.account.description]).toEqual([kept, kept])
  const scout = await hub.join(`scout-${crypto.randomUUID().slice(0, 6)}`)
  const actor = {
    accountId: scout.id,
    name: scout.name,
    kind: 'agent',
    activationId: null,
  } as Actor
  const post = await api.createPost(
    { ...actor, keyId: null, idempotencyKey: null, postId: null },
    { community: 'general', title: `${sent} of an agent`, content: sent },
  )
  const shown = await hub.call(`/posts/${post.id}`)
  expect(shown.body.post).toMatchObject({ title: `${kept} of an agent`, content: kept })
})

import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createTestHub } from '../hub/create-test-hub'
import { type Browser, createBrowser, signIn } from './open-pages'

const hub = createTestHub()
let ada: Browser
let ria: Browser
let keys: Record<'ada' | 'ria', string>
let ids: Record<'ada' | 'ria', string>

beforeAll(async () => {
  const [a, r] = [await hub.join('ada', 'human'), await hub.join('ria', 'human')]
  keys = { ada: a.key, ria: r.key }
  ids = { ada: a.id, ria: r.id }
  ada = await signIn(hub, a.key)
  ria = await signIn(hub, r.key)
})

async function write(title: string, content = ''): Promise<string> {
  const body = { community: 'general', title, content }
  return (await hub.call('/posts', { key: keys.ada, body })).body.post.id
}

async function comment(
  postId: string,
  content: string,
  { by = 'ria', to }: { by?: 'ada' | 'ria'; to?: string } = {},
): Promise<string> {
  hub.clock.advance(1)
  const body = { content, ...(to !== undefined && { parent_id: to }) }
  const answer = await hub.call(`/posts/${postId}/comments`, { key: keys[by], body })
  return answer.body.comment.id
}

const readSeenAt = (name: 'ada' | 'ria', postId: string) =>
  env.DB.prepare('SELECT seen_at FROM visits WHERE account_id = ? AND post_id = ?')
    .bind(ids[name], postId)
    .first<number>('seen_at')

/** Opens a thread, and waits until it was saved up to where the browser's account has read. */
async function visit(browser: Browser, name: 'ada' | 'ria', postId: string): Promise<string> {
  const before = await readSeenAt(name, postId)
  const html = await browser.read(`/p/${postId}`)
  await expect.poll(() => readSeenAt(name, postId)).not.toBe(before)
  return html
}

const articleIds = (html: string) =>
  [...html.matchAll(/<article class="reply" id="c-([^"]+)"/g)].map(([, id]) => id)

test('a thread says what is new since the last visit, and leads to the first of it', async () => {
  const postId = await write('Plums')
  await comment(postId, 'Seen')
  const first = await visit(ada, 'ada', postId)
  expect(first).not.toContain('First unread reply')
  expect(first).not.toContain('class="new"')
  await comment(postId, 'Mine', { by: 'ada' })
  const unread = await comment(postId, 'Unread')
  await comment(postId, 'Unread, too')
  const second = await visit(ada, 'ada', postId)
  expect(second).toContain(`<a href="#c-${unread}">First unread reply</a>`)
  expect(second.match(/class="new"/g)).toHaveLength(2)
  expect(await ada.read(`/p/${postId}`)).not.toContain('First unread reply')
  expect(await createBrowser(hub).read(`/p/${postId}`)).not.toContain('First unread reply')
})

test('the first unread reply is found on an earlier page', async () => {
  const postId = await write('Pears')
  await visit(ada, 'ada', postId)
  const unread = await comment(postId, 'The first')
  for (let n = 0; n < 50; n++) await comment(postId, `Reply ${n}`)
  const html = await visit(ada, 'ada', postId)
  expect(html).toContain(`<a href="/p/${postId}?comment=${unread}#c-${unread}">First unread reply`)
  expect(html).toContain('<a href="#reply">Write a reply</a>')
  const seenAt = await readSeenAt('ada', postId)
  await ada.read(`/p/${postId}?comment=${unread}`)
  await visit(ria, 'ria', postId)
  expect(await readSeenAt('ada', postId), 'an older page takes nothing back').toBe(seenAt)
})

test('a page that is only fetched ahead counts as no visit, and reads nothing in the inbox', async () => {
  const postId = await write('Figs')
  await comment(postId, '@ada look')
  const unread = async () =>
    (await hub.call('/inbox/count', { key: keys.ada })).body.unread_count as number
  const before = await unread()
  expect(before).toBeGreaterThan(0)
  const cookie = ada.cookie
  for (const headers of [{ 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }]) {
    await (await hub.fetch(`/p/${postId}`, { headers: { ...headers, cookie } })).text()
  }
  // A visit of somebody else is saved later than one of these would have been.
  await visit(ria, 'ria', postId)
  expect(await readSeenAt('ada', postId)).toBe(null)
  expect(await unread()).toBe(before)
  await visit(ada, 'ada', postId)
  await expect.poll(unread).toBeLessThan(before)
})

test('replies are sorted by age and by votes, and a branch folds', async () => {
  const postId = await write('Quinces')
  const [one, two, three] = [
    await comment(postId, 'One'),
    await comment(postId, 'Two'),
    await comment(postId, 'Three'),
  ]
  const reply = await comment(postId, 'To one', { to: one, by: 'ada' })
  await hub.call(`/comments/${two}/vote`, {
    key: keys.ada,
    method: 'PUT',
    body: { value: 1 },
  })
  expect(articleIds(await ria.read(`/p/${postId}`))).toEqual([one, reply, two, three])
  expect(articleIds(await ria.read(`/p/${postId}?sort=new`))).toEqual([three, two, one, reply])
  const best = await ria.read(`/p/${postId}?sort=best`)
  expect(articleIds(best)).toEqual([two, one, reply, three])
  expect(best).toMatch(/<a href="[^"]+" aria-current="true">Best<\/a>/)
  expect(best).toContain('<summary>1\u00a0reply<span class="vh"> to ria</span></summary>')
})

test('a link quotes a text in the reply form', async () => {
  const postId = await write('Medlars', 'First line\n\n<b>third</b>')
  const id = await comment(postId, 'A claim')
  expect(await ria.read(`/p/${postId}`)).toContain(`href="/p/${postId}?quote=${id}#reply"`)
  expect(await ria.read(`/p/${postId}?quote=${id}`)).toMatch(/<textarea[^>]*>\n?&gt; A claim\n\n</)
  expect(await ria.read(`/p/${postId}?quote=${postId}`)).toMatch(
    />\n?&gt; First line\n&gt;\n&gt; &lt;b&gt;third&lt;\/b&gt;\n\n</,
  )
  await hub.call(`/comments/${id}`, { key: keys.ria, method: 'DELETE' })
  expect(await ria.read(`/p/${postId}?quote=${id}`)).not.toContain('A claim')
  expect(await createBrowser(hub).read(`/p/${postId}`)).not.toContain('?quote=')
})

test('voting and replying keep the order of the replies, which is marked', async () => {
  const postId = await write('Quinces')
  const first = await comment(postId, 'The first')
  for (const text of ['The second', 'The third']) await comment(postId, text)
  const html = await ada.read(`/p/${postId}?sort=new`)
  const [, current] =
    /Order of replies">(?:<a[^>]*>[^<]*<\/a>)*?<a[^>]*aria-current="true">([^<]*)/.exec(html) ?? []
  expect(current).toBe('Newest')
  expect(html.match(/aria-current="true">/g)).toHaveLength(1)
  const entry = html.slice(html.indexOf(`id="c-${first}"`))
  const next = (/name="next" value="([^"]*)"/.exec(entry)?.[1] ?? '').replaceAll('&amp;', '&')
  const voted = await ada.send(`/p/${postId}/vote`, { comment_id: first, value: '1', next })
  expect(voted.headers.get('location')).toBe(`/p/${postId}?comment=${first}&sort=new#c-${first}`)
  const [, path = ''] = /href="([^"#]*reply_to=[^"#]*)#reply-to"/.exec(entry) ?? []
  const form = await ada.read(path.replaceAll('&amp;', '&'))
  const action = /action="([^"]*\/comments[^"]*)"/.exec(form)?.[1] ?? ''
  const rejected = await ada.send(action, { content: '', parent_id: first })
  expect(articleIds(await rejected.text()).at(-1)).toBe(first)
  const sent = await ada.send(action, { content: 'To the first', parent_id: first })
  const location = sent.headers.get('location') ?? ''
  expect(location).toMatch(/&sort=new#c-/)
  expect(articleIds(await ada.read(location)).at(-2)).toBe(first)
  expect(await ada.read(`/p/${postId}`)).not.toMatch(/(?:action|value)="[^"]*sort=/)
})

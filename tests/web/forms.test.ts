import { expect, test } from 'vitest'
import { limits } from '../../src/shared/config'
import { toLocalPath } from '../../src/web/frame/requests'
import { adminKey, createTestHub } from '../hub/create-test-hub'
import { type Browser, createBrowser, createScene, form, signIn } from './open-pages'

const scene = await createScene()
const { hub, mira, postId } = scene
const browser = await signIn(hub, mira.key)

test('pages: a post written without scripts ends on its thread', async () => {
  const response = await browser.send('/posts-new', {
    community: 'general',
    title: 'Written by hand',
    content: 'First line\r\nsecond line',
  })
  expect(response.status).toBe(303)
  const html = await browser.read(response.headers.get('location') ?? '')
  expect(html).toContain('Written by hand')
  expect(html).toContain('No replies yet')
})

test('pages: a reply to a comment lands below it', async () => {
  const first = await browser.send(`/p/${postId}/comments`, { content: 'The first reply' })
  expect(first.status).toBe(303)
  const parent = /#c-(.+)$/.exec(first.headers.get('location') ?? '')?.[1] ?? ''
  const composer = await browser.read(`/p/${postId}?reply_to=${parent}`)
  expect(composer).toContain(`name="parent_id" value="${parent}"`)
  await browser.send(`/p/${postId}/comments`, { content: 'The answer to it', parent_id: parent })
  const html = await browser.read(`/p/${postId}`)
  const inside = html.slice(html.indexOf(`id="c-${parent}"`), html.indexOf('The answer to it'))
  expect(inside).toContain('The first reply')
  expect(inside).not.toContain('</article>')
})

test('pages: the link to reply to a reply leads to the field itself, so that keys are typed into it', async () => {
  const first = await browser.send(`/p/${postId}/comments`, { content: 'To be answered' })
  const id = /#c-(.+)$/.exec(first.headers.get('location') ?? '')?.[1] ?? ''
  const html = await browser.read(`/p/${postId}`)
  const [, path = '', fragment] =
    new RegExp(`href="([^"]*reply_to=${id})#([^"]+)"`).exec(html) ?? []
  expect(await browser.read(path)).toMatch(new RegExp(`<textarea[^>]* id="${fragment}"`))
  const nobody = await createBrowser(hub).read(path)
  expect(nobody).toContain(`<p class="meta" id="${fragment}"><a href="/login`)
})

test('pages: a rejected form is shown again with what was typed', async () => {
  const response = await browser.send('/posts-new', {
    community: 'no-such-place',
    title: 'A title <to keep>',
    content: 'A text to keep',
  })
  const html = await response.text()
  expect(response.status).toBe(404)
  expect(html).toContain('role="alert"')
  expect(html).toContain('value="A title &lt;to keep&gt;"')
  expect(html).toContain('A text to keep</textarea>')
  // browsers drop a line end right behind the tag, so one more keeps that of the text
  const spaced = { community: 'no-such-place', title: 'A title', content: '\nA text to keep' }
  expect(await (await browser.send('/posts-new', spaced)).text()).toContain(
    '>\n\nA text to keep</textarea>',
  )
  const empty = await browser.send(`/p/${postId}/comments`, { content: '   ' })
  expect(empty.status).toBe(400)
  const again = await empty.text()
  expect(again).toContain('must not be empty')
  expect(again).toContain('role="alert"')
  expect(again).toMatch(/<textarea[^>]* aria-describedby="reply-wrong" aria-invalid="true"/)
  const long = await browser.send('/posts-new', {
    title: 'a'.repeat(301),
    content: 'A text to keep',
  })
  expect(long.status).toBe(400)
  const draft = await long.text()
  expect(draft).toMatch(/<input[^>]* aria-describedby="new-wrong" aria-invalid="true"/)
  expect(draft).toContain('The title can have at most 300 characters.')
  expect(draft).toContain('A text to keep</textarea>')
})

test('pages: a post without a title gets the first sentence of its text, and one without both is refused', async () => {
  const sent = await browser.send('/posts-new', { title: ' ', content: 'Tides turn *twice*. Why?' })
  expect(sent.status).toBe(303)
  const thread = await browser.read(
    new URL(sent.headers.get('location') ?? '', 'http://hub.test').pathname,
  )
  expect(thread).toMatch(/<h1[^>]*>(<bdi>)?Tides turn twice</)
  const empty = await browser.send('/posts-new', { title: ' ', content: ' ' })
  expect(empty.status).toBe(400)
  expect((await empty.text()).match(/Write a title or a text\./g)).toHaveLength(1)
})

test('pages: a form from another site is refused', async () => {
  const evil = form({ content: 'from elsewhere' })
  const headers = {
    ...(evil.headers as Record<string, string>),
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
  }
  const signedIn = await hub.fetch('/login', form({ key: mira.key }))
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const response = await hub.fetch(`/p/${postId}/comments`, {
    ...evil,
    headers: { ...headers, cookie },
  })
  expect(response.status).toBe(403)
  expect(await browser.read(`/p/${postId}`)).not.toContain('from elsewhere</p>')
  expect((await hub.fetch('/login', { ...form({ key: mira.key }), headers })).status).toBe(403)
})

test('pages: a form sent without a session keeps its text and shows what to do', async () => {
  const response = await createBrowser(hub).send(`/p/${postId}/comments`, { content: 'hello' })
  expect(response.status).toBe(401)
  expect(await response.text()).toContain('Sign in</a> to reply')
})

test('H2: signing in sets a cookie that scripts cannot read; signing out ends the session', async () => {
  const response = await hub.fetch('/login', form({ key: adminKey, next: '/budgets' }))
  expect(response.headers.get('location')).toBe('/budgets')
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toContain('HttpOnly')
  expect(cookie).toContain('SameSite=Lax')
  const admin = createBrowser(hub, cookie.split(';')[0])
  expect(await admin.read('/')).toContain('href="/a/admin"')
  await admin.send('/logout', {})
  expect(await admin.read('/')).toContain('Sign in</a>')
})

const makeKey = async (fields: object) =>
  (await hub.call('/me/keys', { key: mira.key, body: fields })).body.key

const isSignedIn = async (who: Browser) => !(await who.read('/')).includes('Sign in</a>')

test('H2: signed in with a key that may only read, a viewer reads everything and writes nothing', async () => {
  const reader = await signIn(hub, (await makeKey({ scopes: ['read'] })).api_key)
  for (const path of ['/', '/inbox', '/dm', '/approvals', '/budgets', '/tools', `/p/${postId}`]) {
    expect([path, (await reader.get(path)).status]).toEqual([path, 200])
  }
  const text = 'Written with a key that may only read'
  for (const [path, fields] of [
    ['/posts-new', { community: 'general', title: text, content: text }],
    [`/p/${postId}/comments`, { content: text }],
  ] as const) {
    const response = await reader.send(path, fields)
    const html = await response.text()
    expect([path, response.status]).toEqual([path, 403])
    expect(html).toContain('You are signed in with a key that lacks the scope')
    expect(html).toContain(`${text}</textarea>`)
  }
  for (const path of [`/p/${postId}/vote`, '/inbox/read']) {
    const response = await reader.send(path, { value: '1', next: '/' })
    expect([path, response.status]).toEqual([path, 403])
    expect(await response.text()).toContain('Sign in with a key that has the scope')
  }
  expect(await browser.read(`/p/${postId}`)).not.toContain(text)
  await reader.send('/logout', {})
  expect(await isSignedIn(reader)).toBe(false)
})

test('H2: signed in with a key that may only write, a viewer is asked to use another key and can', async () => {
  const writer = await signIn(hub, (await makeKey({ scopes: ['write'] })).api_key)
  const response = await writer.get('/')
  const html = await response.text()
  expect(response.status).toBe(403)
  expect(html).toContain('You are signed in with a key that lacks the scope')
  expect(html).toContain('href="/login')
  expect((await writer.get('/login')).status).toBe(200)
})

test('H2: removing a key ends the sessions that were opened with it, and no others', async () => {
  const key = await makeKey({})
  const opened = await signIn(hub, key.api_key)
  expect(await isSignedIn(opened)).toBe(true)
  await hub.call(`/me/keys/${key.id}`, { method: 'DELETE', key: mira.key })
  expect(await isSignedIn(opened)).toBe(false)
  expect(await isSignedIn(browser)).toBe(true)
})

test('H2: a session ends no later than its key, opened before the key was replaced or after', async () => {
  const key = await makeKey({})
  const before = await signIn(hub, key.api_key)
  await makeKey({ replaces: key.id, grace_hours: 1 })
  const after = await signIn(hub, key.api_key)
  expect([await isSignedIn(before), await isSignedIn(after)]).toEqual([true, true])
  hub.clock.advance(3_600_001)
  expect([await isSignedIn(before), await isSignedIn(after)]).toEqual([false, false])
  expect(await isSignedIn(browser)).toBe(true)
})

test('H2: a session outlives the sign-in link that opened it', async () => {
  const link = await hub.call('/sessions/link', { key: adminKey, body: { name: mira.name } })
  const token = new URL(link.body.url).searchParams.get('token') ?? ''
  const entered = await hub.fetch('/login/link', form({ token }))
  const opened = createBrowser(hub, entered.headers.get('set-cookie')?.split(';')[0])
  hub.clock.advance(limits.signInLinkHours * 3_600_000 + 1)
  expect((await hub.fetch(`/login?token=${token}`)).status).toBe(401)
  expect(await isSignedIn(opened)).toBe(true)
})

test('pages: a refused key or link says what to do', async () => {
  const wrong = await hub.fetch('/login?token=wrong')
  expect(wrong.status).toBe(401)
  expect(await wrong.text()).toContain('has expired')
  const key = await hub.fetch('/login', form({ key: 'rookery_wrong' }))
  expect(key.status).toBe(401)
  const rejected = await key.text()
  expect(rejected).not.toContain('rookery_wrong')
  expect(rejected).toContain('role="alert"')
  expect(rejected).toMatch(/<input[^>]* aria-describedby="key-wrong" aria-invalid="true"/)
  const empty = await hub.fetch('/login', form({ key: ' ', next: '/inbox' }))
  expect(empty.status).toBe(400)
  const again = await empty.text()
  expect(again).toContain('Enter the key of your account.')
  expect(again).toContain('name="next" value="/inbox"')
})

test('pages: signing in never redirects to another site', () => {
  expect(toLocalPath('/p/1?x=1#c-2')).toBe('/p/1?x=1#c-2')
  for (const text of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/\t/evil.example',
  ]) {
    expect(toLocalPath(text)).toBe('/')
  }
})

test('pages: a private hub sends strangers to the sign-in page and back', async () => {
  const closed = createTestHub({ ROOKERY_PUBLIC: 'false' })
  for (const path of ['/', '/budgets', '/docs', '/search?q=x', `/p/${postId}`]) {
    const response = await closed.fetch(path, { redirect: 'manual' })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(`/login?next=${encodeURIComponent(path)}`)
  }
  expect((await closed.fetch('/login')).status).toBe(200)
  expect((await (await signIn(closed)).get('/')).status).toBe(200)
})

test('H5: a person who opens a thread has read its inbox items', async () => {
  const other = await hub.join(`rhea-${crypto.randomUUID().slice(0, 6)}`, 'human')
  const rhea = await signIn(hub, other.key)
  await browser.send(`/p/${postId}/comments`, { content: `@${other.name} look here` })
  await hub.fetch(`/p/${postId}`, { headers: { cookie: rhea.cookie, 'sec-purpose': 'prefetch' } })
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await rhea.read('/')).toContain('<b data-unread="true"> 1</b>')
  await rhea.get(`/p/${postId}`)
  await expect.poll(() => rhea.read('/inbox')).toContain('No unread items.')
})

test('H5: the inbox lists what arrived and marks it read', async () => {
  const other = await hub.join(`priya-${crypto.randomUUID().slice(0, 6)}`, 'human')
  const priya = await signIn(hub, other.key)
  expect(await priya.read('/inbox')).toContain('Your inbox is empty')
  await browser.send(`/p/${postId}/comments`, { content: `@${other.name} look here` })
  expect(await priya.read('/inbox')).toContain('mentioned you')
  expect(await priya.read('/')).toContain('<b data-unread="true"> 1</b>')
  await priya.send('/inbox/read', {})
  expect(await priya.read('/inbox')).toContain('No unread items.')
  expect((await createBrowser(hub).get('/inbox')).status).toBe(303)
})

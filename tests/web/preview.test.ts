import { expect, test } from 'vitest'
import { listFields } from '../../src/web/form/form-state'
import { assetPaths } from '../../src/web/frame/assets'
import { postForm, replyForm } from '../../src/web/posts/composer'
import { readCost } from '../hub/create-test-hub'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira, scout, postId } = await createScene()
const requester = await signIn(hub, mira.key)

test('C5: without scripts a button shows what a post would do, with the text to change or post', async () => {
  expect(await requester.read('/')).toContain('formaction="/posts-preview"')
  const fields = { title: 'Plums <b>', content: `@${scout.name} which?`, community: 'general' }
  await requester.send('/posts-preview', fields)
  const response = await requester.send('/posts-preview', fields)
  expect(response.status).toBe(200)
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  expect(html).toContain('id="promise"')
  expect(html).toContain(`For @${mira.name}, with offline/extractive.`)
  expect(html).toMatch(/<details[^>]*><summary>It may use \d+.tools<\/summary><p>[^<]*hub\.search/)
  hub.seen.listUsableTools = async ({ name }, tools) =>
    tools.filter((tool) => name === scout.name && tool !== 'hub_search')
  const restricted = await (await requester.send('/posts-preview', fields)).text()
  expect(restricted).toContain('It may use')
  expect(restricted).not.toContain('hub.search')
  expect(html).toContain('value="Plums &lt;b&gt;"')
  expect(html).toContain('action="/posts-new"')
})

test('C5: a reply is previewed in its thread, and a text without an agent wakes nobody', async () => {
  expect(await requester.read(`/p/${postId}`)).toContain(`name="post_id" value="${postId}"`)
  const html = await (
    await requester.send('/posts-preview', { post_id: postId, content: 'Thanks' })
  ).text()
  expect(html).toContain('This wakes no agent.')
  expect(html).toContain(`action="/p/${postId}/comments"`)
  const missing = await requester.send('/posts-preview', { post_id: 'none', content: 'Thanks' })
  expect(missing.status).toBe(404)
  expect((await createBrowser(hub).send('/posts-preview', { content: 'x' })).status).toBe(401)
})

test('C5: the script of the preview is not part of the page until somebody writes', async () => {
  const html = await requester.read(`/p/${postId}`)
  expect(html).toContain(`data-preview="${assetPaths().preview}"`)
  expect(html).not.toContain(`src="${assetPaths().preview}"`)
  expect(await requester.read(assetPaths().page)).toContain('import(preview)')
  expect(await requester.read(assetPaths().preview)).toContain("fetch('/posts-preview'")
})

const { body: reply } = await hub.call(`/posts/${postId}/comments`, {
  key: mira.key,
  body: { content: 'One more question' },
})
const places: Record<string, string> = { community: 'general', parent_id: reply.comment.id }

test.each([
  ['post', listFields(postForm), {}],
  ['reply', listFields(replyForm), { post_id: postId }],
] as const)(
  'C5: the preview of a %s keeps what each field of its form has',
  async (_, names, place) => {
    const fields = Object.fromEntries(
      names.map((name) => [name, places[name] ?? `kept in ${name}`]),
    )
    const response = await requester.send('/posts-preview', { ...fields, ...place })
    const html = await response.text()
    for (const [name, value] of Object.entries(fields)) {
      expect(html).toMatch(new RegExp(`name="${name}"[^>]*(value="|>)${value}`))
    }
  },
)

const preview = async (fields: Record<string, string>, query = '') =>
  (await requester.send(`/posts-preview${query}`, fields)).text()
const readShown = (html: string) => /<section[^>]* id="shown".*?<\/section>/s.exec(html)?.[0] ?? ''
const text = `**plum** @${scout.name} @nobody\n\n\`\`\`js\nconst a = 1\n\`\`\``
const image = '00000000-0000-4000-8000-000000000000-16x8'

test('the preview shows a post, a reply, an edit and messages as they are rendered, with links and images', async () => {
  const content = `${text}\n\n![a plum](/media/${image})`
  const { body } = await hub.call('/conversations', {
    key: mira.key,
    body: { to: scout.name, content: 'Hi' },
  })
  const conversation = body.message.conversation_id as string
  for (const fields of [
    { title: 'A <title>', community: 'general' },
    { post_id: postId },
    { edit: postId, base: '0', title: 'A title', url: '' },
    { edit: postId, base: '0', comment_id: reply.comment.id },
    { conversation },
    { to: scout.name },
  ]) {
    const html = await preview({ ...fields, content } as Record<string, string>)
    const shown = readShown(html)
    expect(shown, JSON.stringify(fields)).toContain('<strong>plum</strong>')
    expect(shown).toContain(`class="at" href="/a/${scout.name}"`)
    expect(shown).not.toContain('href="/a/nobody"')
    expect(shown).toContain(`<img src="/media/${image}"`)
    expect(html.split('</section>').at(-1)).toContain('**plum**')
    for (const [name, value] of Object.entries(fields)) {
      expect(html).toMatch(new RegExp(`name="${name}"[^>]*(value="|>)${value.split('<')[0]}`))
    }
  }
  expect(readShown(await preview({ title: 'A <title>', content }))).toContain(
    'A &lt;title&gt;</h2>',
  )
  expect(readShown(await preview({ post_id: postId, content: ' ' }))).toContain('Nothing to show')
})

test('the preview of an edit does not show whom a thread mentions to those who cannot read it', async () => {
  const stranger = await signIn(hub, (await hub.join('stranger', 'human')).key)
  await hub.call('/communities', { key: mira.key, body: { name: 'den', visibility: 'private' } })
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'den', title: 'Plums', content: `@${scout.name}` },
  })
  const draft = { edit: body.post.id as string, base: '0', content: `@${scout.name}` }
  expect((await requester.send('/posts-preview', draft)).status).toBe(200)
  expect((await stranger.send('/posts-preview', draft)).status).toBe(404)
})

test('the order of a thread stays through a preview, and with the reply through a sign-in', async () => {
  const fields = { post_id: postId, content: 'Thanks' }
  const thread = await requester.read(`/p/${postId}?sort=new`)
  expect(thread).toContain('formaction="/posts-preview?sort=new"')
  const html = await preview(fields, '?sort=new')
  expect(html).toContain(`action="/p/${postId}/comments?sort=new"`)
  expect(html).toContain('formaction="/posts-preview?sort=new"')
  const stranger = createBrowser(hub)
  const readNext = async (path: string) =>
    decodeURIComponent(/\/login\?next=([^"]+)"/.exec(await stranger.read(path))?.[1] ?? '')
  expect(await readNext(`/p/${postId}?sort=new`)).toBe(`/p/${postId}?sort=new#reply`)
  expect(await readNext(`/p/${postId}?reply_to=${reply.comment.id}&sort=best`)).toBe(
    `/p/${postId}?reply_to=${reply.comment.id}&sort=best#reply-to`,
  )
  expect(await readNext('/?sort=new')).toBe('/?sort=new')
  expect(await readNext('/m/general?sort=top')).toBe('/m/general?sort=top')
  // signed out meanwhile: what was typed can be sent again once signed in
  const refused = await stranger.send('/posts-preview?sort=new', { ...fields, content: text })
  expect(refused.status).toBe(401)
  const page = await refused.text()
  expect(page).toContain('action="/posts-preview?sort=new"')
  expect(page).toContain('**plum**')
  expect(page).toContain(`name="post_id" value="${postId}"`)
  expect(page).not.toContain('id="shown"')
})

test('each form for a text has a preview and a help for its formatting', async () => {
  const { body } = await hub.call('/conversations', {
    key: mira.key,
    body: { to: scout.name, content: 'Hi again' },
  })
  for (const path of [
    '/',
    '/m/general',
    `/p/${postId}`,
    `/p/${postId}?reply_to=${reply.comment.id}`,
    `/p/${postId}/edit`,
    '/dm',
    `/dm/${body.message.conversation_id}`,
  ]) {
    const html = await requester.read(path)
    expect(html, path).toContain('<summary>Formatting</summary>')
    expect(html, path).toMatch(/data-preview="\/assets\/[^"]+".*formaction="\/posts-preview"/s)
  }
})

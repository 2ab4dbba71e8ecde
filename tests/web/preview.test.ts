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

import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { textVersionLimits } from '../../../src/shared/config'
import { createBrowser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
})

const edit = async (path: string, body: Record<string, unknown>) => {
  hub.clock.advance(1_000)
  const answer = await hub.call(path, { key: ada.key, method: 'PATCH', body })
  expect(answer.status).toBe(200)
}

async function write(title: string, content: string): Promise<string> {
  const body = { community: 'general', title, content }
  return (await hub.call('/posts', { key: ada.key, body })).body.post.id
}

async function comment(postId: string, content: string): Promise<string> {
  const answer = await hub.call(`/posts/${postId}/comments`, { key: ada.key, body: { content } })
  return answer.body.comment.id
}

interface Version {
  title: string
  content: string
  url: string | null
  written_at: string
}

const readVersions = async (path: string): Promise<Version[]> =>
  (await hub.call(`${path}/versions`)).body.versions

const countVersions = () =>
  env.DB.prepare('SELECT count(*) AS count FROM text_versions').first<number>('count')

test('an edit keeps what a post said, with its title and URL, and one that changes nothing keeps nothing', async () => {
  const id = await write('Plums', 'Ripe in May')
  const path = `/posts/${id}`
  expect(await readVersions(path)).toMatchObject([{ title: 'Plums', content: 'Ripe in May' }])
  await edit(path, { content: 'Ripe in June' })
  await edit(path, { title: 'Pears', url: 'https://example.com/pears' })
  await edit(path, { title: 'Pears' })
  const versions = await readVersions(path)
  expect(versions).toMatchObject([
    { title: 'Pears', content: 'Ripe in June', url: 'https://example.com/pears' },
    { title: 'Plums', content: 'Ripe in June', url: null },
    { title: 'Plums', content: 'Ripe in May', url: null },
  ])
  const times = versions.map(({ written_at }) => written_at)
  expect(times).toEqual(times.toSorted().reverse())
})

test('a page shows what each edit of a comment changed, and the word "edited" leads there', async () => {
  const postId = await write('Figs', '')
  const id = await comment(postId, 'One\n\nTwo <b>')
  await edit(`/comments/${id}`, { content: 'One\n\nThree <i>' })
  const browser = createBrowser(hub)
  const path = `/p/${postId}/versions?comment=${id}`
  expect(await browser.read(`/p/${postId}`)).toContain(`<a href="${path}">edited</a>`)
  const html = await browser.read(path)
  expect(html).toContain('<span class="loss">Two &lt;b&gt;\n</span>')
  expect(html).toContain('<span class="gain">Three &lt;i&gt;\n</span>')
  const other = await write('Other', '')
  expect((await browser.get(`/p/${other}/versions?comment=${id}`)).status).toBe(404)
  expect((await browser.get(`/p/${other}/versions`)).status).toBe(200)
})

test('an edit that changes nothing leaves a text unedited, from the API and from the page', async () => {
  const postId = await write('Limes', 'Sour\n\nand green')
  const id = await comment(postId, 'One\ntwo')
  const owner = await signIn(hub, ada.key)
  const count = await countVersions()
  await edit(`/posts/${postId}`, { title: 'Limes', content: 'Sour\n\nand green', url: null })
  await edit(`/comments/${id}`, { content: 'One\ntwo' })
  const path = `/p/${postId}/edit`
  const post = { title: 'Limes', url: '', content: 'Sour\r\n\r\nand green' }
  expect((await owner.send(path, post)).status).toBe(303)
  expect((await owner.send(path, { comment_id: id, content: 'One\r\ntwo' })).status).toBe(303)
  expect(await owner.read(`/p/${postId}`)).not.toContain('>edited</a>')
  expect((await hub.call(`/posts/${postId}`)).body.post.edited_at).toBeNull()
  expect(await countVersions()).toBe(count)
  await edit(`/posts/${postId}`, { title: 'Limes', url: 'https://example.com/limes' })
  expect((await hub.call(`/posts/${postId}`)).body.post.edited_at).not.toBeNull()
})

test('T11: what is deleted or removed takes its versions along, and what is restored has them again', async () => {
  const postId = await write('Secret plums', 'Secret text')
  const id = await comment(postId, 'Secret words')
  await edit(`/posts/${postId}`, { title: 'Plums', content: 'Text' })
  await edit(`/comments/${id}`, { content: 'Words' })
  const moderator = await signIn(hub)
  const places = [
    `/api/v1/posts/${postId}/versions`,
    `/api/v1/comments/${id}/versions`,
    `/p/${postId}/versions`,
    `/p/${postId}/versions?comment=${id}`,
  ]
  const readAll = () =>
    Promise.all(places.map(async (path) => (await moderator.read(path)).includes('Secret')))
  const moderate = (path: string, action: string) =>
    hub.call(`${path}/${action}`, { key: adminKey, body: { reason: 'Rules.' } })
  expect(await readAll()).toEqual([true, true, true, true])
  expect((await moderate(`/comments/${id}`, 'remove')).status).toBeLessThan(300)
  expect(await readAll()).toEqual([true, false, true, false])
  expect((await moderate(`/comments/${id}`, 'restore')).status).toBeLessThan(300)
  expect((await moderate(`/posts/${postId}`, 'remove')).status).toBeLessThan(300)
  expect(await readAll()).toEqual([false, true, false, true])
  expect((await moderate(`/posts/${postId}`, 'restore')).status).toBeLessThan(300)
  expect(await readAll()).toEqual([true, true, true, true])
  await hub.call(`/comments/${id}`, { key: ada.key, method: 'DELETE' })
  expect(await readAll()).toEqual([true, false, true, false])
  await hub.call(`/posts/${postId}`, { key: ada.key, method: 'DELETE' })
  expect(await readAll()).toEqual([false, false, false, false])
})

test('T15: of many versions the first and the newest stay, and of long ones as many as fit', async () => {
  const id = await comment(await write('Quinces', ''), 'Version 0')
  for (let n = 1; n <= textVersionLimits.keptMax + 3; n++) {
    await edit(`/comments/${id}`, { content: `Version ${n}` })
  }
  const numbers = (await readVersions(`/comments/${id}`)).map(({ content }) => content.slice(8))
  const newest = textVersionLimits.keptMax + 3
  expect(numbers).toEqual([
    ...Array.from({ length: textVersionLimits.keptMax }, (_, at) => String(newest - at)),
    '0',
  ])
  const postId = await write('Long', 'First')
  for (let n = 0; n < 15; n++) {
    await edit(`/posts/${postId}`, { content: `${n} ${'word '.repeat(7_900)}` })
  }
  const versions = await readVersions(`/posts/${postId}`)
  expect(versions.at(-1)?.content).toBe('First')
  expect(versions.length).toBeLessThan(14)
  const chars = versions.slice(1).reduce((total, { content }) => total + content.length, 0)
  expect(chars).toBeLessThanOrEqual(textVersionLimits.charsMax + 'First'.length)
})

test('a deleted account takes the versions of its texts along', async () => {
  const others = await countVersions()
  const bea = await hub.join('bea', 'human')
  const body = { community: 'general', title: 'Bea', content: 'was here' }
  const { id } = (await hub.call('/posts', { key: bea.key, body })).body.post
  const added = await hub.call(`/posts/${id}/comments`, {
    key: bea.key,
    body: { content: 'and there' },
  })
  const paths = [`/posts/${id}`, `/comments/${added.body.comment.id}`]
  for (const path of paths) {
    await hub.call(path, { key: bea.key, method: 'PATCH', body: { content: 'Changed' } })
  }
  expect(await countVersions()).toBe((others ?? 0) + 2)
  const done = await hub.call('/accounts/bea?words=remove', { key: adminKey, method: 'DELETE' })
  expect(done.status).toBeLessThan(300)
  expect(await countVersions()).toBe(others)
})

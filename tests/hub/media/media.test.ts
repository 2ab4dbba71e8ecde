import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { sweep } from '../../../src/hub/api/sweep'
import type { Actor } from '../../../src/hub/contract/hub'
import { cleanImage } from '../../../src/hub/media/images/clean-image'
import { media } from '../../../src/shared/config'
import type { PostId } from '../../../src/shared/ids'
import { signIn } from '../../web/open-pages'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { samples } from './samples'

const office = createOffice({ ROOKERY_MEDIA_QUOTA_MB: '1' })
const { hub } = office
const dayMs = 24 * 60 * 60 * 1000

type Someone = Awaited<ReturnType<typeof hub.join>>
let ada: Someone
let ben: Someone

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  ben = await hub.join('ben', 'human')
  const key = adminKey
  await hub.call('/communities', { key, body: { name: 'general' } })
  const cellar = { name: 'cellar', visibility: 'private' }
  await hub.call('/communities', { key: ada.key, body: cellar })
})

const send = (
  key: string | null,
  body: BodyInit,
  headers: Record<string, string> = {},
): Promise<Response> =>
  hub.fetch('/api/v1/media', {
    method: 'POST',
    body,
    headers: { ...(key && { authorization: `Bearer ${key}` }), ...headers },
  })

interface Uploaded {
  id: string
  url: string
  width: number
  height: number
}

async function upload(key: string, bytes: BodyInit = samples.jpeg): Promise<Uploaded> {
  const response = await send(key, bytes)
  expect(response.status).toBe(201)
  return ((await response.json()) as { media: Uploaded }).media
}

const get = (url: string, key: string | null, headers: Record<string, string> = {}) =>
  hub.fetch(url, { headers: { ...(key && { authorization: `Bearer ${key}` }), ...headers } })
/** What each of them gets for an image: its uploader, another person, nobody in particular. */
const see = async (url: string): Promise<number[]> => {
  const answers = await Promise.all([ada.key, ben.key, null].map((key) => get(url, key)))
  return answers.map(({ status }) => status)
}

const post = async (content: string, community = 'general', key = ada.key): Promise<string> => {
  const { status, body } = await hub.call('/posts', {
    key,
    body: { title: 'A picture', content, community },
  })
  expect(status).toBe(201)
  return body.post.id
}
const shown = ({ url }: { url: string }) => `Look: ![a plum](${url})`

test('H18: an uploaded image has no metadata, cannot run, and is its uploader’s until a text shows it', async () => {
  const sent = await send(ada.key, samples.jpeg, { 'content-type': 'text/html' })
  expect(sent.status).toBe(201)
  const { media: image } = (await sent.json()) as { media: Uploaded }
  expect(image).toMatchObject({ url: `/media/${image.id}`, width: 16, height: 8 })
  expect(await see(image.url)).toEqual([200, 404, 404])
  const file = await get(image.url, ada.key)
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'image/jpeg',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, max-age=0, must-revalidate',
    etag: `"${image.id}"`,
  })
  const cleaned = cleanImage(samples.jpeg)
  expect(new Uint8Array(await file.arrayBuffer())).toEqual('bytes' in cleaned && cleaned.bytes)
  const again = { 'if-none-match': `"${image.id}"` }
  expect((await get(image.url, ada.key, again)).status).toBe(304)
  expect((await get(image.url, ben.key, again)).status).toBe(404)
})

test('H18: a post shows its image to its readers, until the author edits it out, deletes it or a moderator removes it', async () => {
  const image = await upload(ada.key)
  const id = await post(shown(image))
  expect(await see(image.url)).toEqual([200, 200, 200])

  const edit = (content: string) =>
    hub.call(`/posts/${id}`, { method: 'PATCH', key: ada.key, body: { content } })
  await edit('Nothing to see')
  expect(await see(image.url)).toEqual([200, 404, 404])
  await edit(shown(image))
  expect(await see(image.url)).toEqual([200, 200, 200])

  const moderate = (action: string) =>
    hub.call(`/posts/${id}/${action}`, { key: adminKey, body: { reason: 'Because' } })
  expect((await moderate('remove')).status).toBeLessThan(300)
  expect(await see(image.url)).toEqual([200, 404, 404])
  expect((await moderate('restore')).status).toBeLessThan(300)
  expect(await see(image.url)).toEqual([200, 200, 200])

  await hub.call(`/posts/${id}`, { method: 'DELETE', key: ada.key })
  expect(await see(image.url)).toEqual([200, 404, 404])
})

test('H18: moderators see the images of a removed post and comment, and others do not', async () => {
  const [image, inComment] = [await upload(ada.key), await upload(ada.key)]
  const id = await post(shown(image))
  const body = { content: shown(inComment) }
  const path = `/posts/${id}/comments`
  const { comment } = (await hub.call(path, { key: ada.key, body })).body
  const statusFor = async (key: string | null) =>
    Promise.all([image, inComment].map(async ({ url }) => (await get(url, key)).status))
  const remove = { key: adminKey, body: { reason: 'Because' } }
  expect((await hub.call(`/comments/${comment.id}/remove`, remove)).status).toBeLessThan(300)
  expect(await statusFor(adminKey)).toEqual([200, 200])
  expect(await statusFor(ben.key)).toEqual([200, 404])
  expect((await hub.call(`/posts/${id}/remove`, remove)).status).toBeLessThan(300)
  expect(await statusFor(adminKey)).toEqual([200, 200])
  expect(await statusFor(ben.key)).toEqual([404, 404])
  expect(await statusFor(null)).toEqual([404, 404])
  const admin = await signIn(hub)
  expect(await admin.read(`/p/${id}`)).toContain(`<img src="${image.url}"`)
  expect(await (await hub.fetch(`/p/${id}`)).text()).not.toContain(image.id)
})

test('H18: moderators of a private community alone see the images that were removed there', async () => {
  const image = await upload(ada.key)
  const id = await post(shown(image), 'cellar')
  const member = { method: 'PUT', key: ada.key, body: { role: 'member' } }
  await hub.call('/communities/cellar/members/ben', member)
  const remove = { key: ada.key, body: { reason: 'Because' } }
  await hub.call(`/posts/${id}/remove`, remove)
  expect((await get(image.url, ben.key)).status).toBe(404)
  expect((await get(image.url, adminKey)).status).toBe(404)
  await hub.call('/communities/cellar/members/ben', { ...member, body: { role: 'moderator' } })
  await hub.call('/accounts/ben/role', { method: 'PUT', key: adminKey, body: { role: 'member' } })
  expect((await get(image.url, ben.key)).status).toBe(200)
  await hub.call('/communities/cellar/members/ben', { method: 'DELETE', key: ada.key })
})

test('H18: the images of a private community are for its members', async () => {
  const image = await upload(ada.key)
  const id = await post(shown(image), 'cellar')
  const inComment = await upload(ada.key)
  const path = `/posts/${id}/comments`
  await hub.call(path, { key: ada.key, body: { content: shown(inComment) } })
  expect(await see(image.url)).toEqual([200, 404, 404])
  expect(await see(inComment.url)).toEqual([200, 404, 404])
  const member = { method: 'PUT', key: ada.key, body: { role: 'member' } }
  expect((await hub.call('/communities/cellar/members/ben', member)).status).toBeLessThan(300)
  expect(await see(image.url)).toEqual([200, 200, 404])
  expect(await see(inComment.url)).toEqual([200, 200, 404])
})

test('H18: the image of a comment goes with it, and with its post', async () => {
  const [image, other] = [await upload(ada.key), await upload(ada.key)]
  const id = await post('A thread', 'general', ben.key)
  const comment = async (content: string): Promise<string> => {
    const path = `/posts/${id}/comments`
    return (await hub.call(path, { key: ada.key, body: { content } })).body.comment.id
  }
  const first = await comment(shown(image))
  await comment(shown(other))
  expect(await see(image.url)).toEqual([200, 200, 200])
  const edit = { method: 'PATCH', key: ada.key, body: { content: 'Nothing' } }
  await hub.call(`/comments/${first}`, edit)
  expect(await see(image.url)).toEqual([200, 404, 404])
  await hub.call(`/comments/${first}`, { ...edit, body: { content: shown(image) } })
  expect(await see(image.url)).toEqual([200, 200, 200])
  await hub.call(`/comments/${first}`, { method: 'DELETE', key: ada.key })
  expect(await see(image.url)).toEqual([200, 404, 404])
  expect(await see(other.url)).toEqual([200, 200, 200])
  await hub.call(`/posts/${id}`, { method: 'DELETE', key: ben.key })
  expect(await see(other.url)).toEqual([200, 404, 404])
})

test('H18: the image of a message is for its two people, not for admins', async () => {
  const image = await upload(ada.key)
  const body = { to: 'ben', content: shown(image) }
  expect((await hub.call('/conversations', { key: ada.key, body })).status).toBe(201)
  expect(await see(image.url)).toEqual([200, 200, 404])
  expect((await get(image.url, adminKey)).status).toBe(404)
})

test('H18: the image of an agent’s reply is for those who read the reply, and unused while none is posted', async () => {
  const scout = await office.createAgent('scout')
  const image = await upload(scout.key)
  const answer = async (postId: string | null) => {
    const { activationId } = await office.start(scout.id)
    const reply = { id: office.newId(), postId, parentId: null, content: shown(image) }
    await office.commit(scout.id, activationId, { reply: reply as never })
  }
  const isUsed = async () => await office.first('SELECT is_used FROM media WHERE id = ?', image.id)

  const locked = await post('@scout show it', 'general', ben.key)
  await office.run('UPDATE posts SET is_locked = 1 WHERE id = ?', locked)
  await answer(locked)
  expect(await see(image.url)).toEqual([404, 404, 404])
  expect(await isUsed()).toEqual({ is_used: 0 })

  const body = { to: 'scout', content: 'Show it to me' }
  expect((await hub.call('/conversations', { key: ben.key, body })).status).toBe(201)
  await answer(null)
  expect(await see(image.url)).toEqual([404, 200, 404])
  expect(await isUsed()).toEqual({ is_used: 1 })

  await answer(await post('@scout show it', 'general', ben.key))
  expect(await see(image.url)).toEqual([200, 200, 200])
})

test('H18: whoever knows the address of an image of others cannot show it', async () => {
  const image = await upload(ada.key)
  await post(shown(image), 'general', ben.key)
  expect(await see(image.url)).toEqual([200, 404, 404])
})

test('H18: a text shows images of the hub with their size, and links to those of other hosts', async () => {
  const image = await upload(ada.key)
  const id = await post(
    `![a "plum" <b>](${image.url})\n\n![tracked](https://elsewhere.test/pixel.png)\n\n![none](/media/x.png)`,
  )
  const page = await (await hub.fetch(`/p/${id}`)).text()
  expect(page).toContain(
    `<img src="${image.url}" width="16" height="8" alt="a &quot;plum&quot; &lt;b&gt;" loading="lazy">`,
  )
  expect(page).toContain('<a href="https://elsewhere.test/pixel.png" rel="nofollow ugc noopener">')
  expect(page).not.toMatch(/<img[^>]*(?:elsewhere|x\.png)/)
})

test('H18: agents read what an image shows, and not its address', async () => {
  const image = await upload(ada.key)
  const content = `${shown(image)}, ![](${image.url}), ![far](https://elsewhere.test/a.png)`
  const id = await post(content)
  const reader = { accountId: ben.id, activationId: null } as Actor
  const { post: read } = await createHubApi(hub.context).readThread(reader, id as PostId, 10)
  expect(read.content).toBe(
    'Look: [an image: a plum], [an image without a description], ![far](https://elsewhere.test/a.png)',
  )
})

test('H18: models see an image as it is, or its reduced form, which goes with it', async () => {
  const scout = await office.createAgent('seer')
  const original = await upload(ada.key, samples.gif)
  const reduce = (key: string, id: string, body: BodyInit) =>
    hub.fetch(`/api/v1/media?reduced_of=${id}`, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${key}` },
    })
  /** The images of a new thread that a run gets. */
  const seen = async (url: string) => {
    const asked = await post(`@seer what is it? ![a plum](${url})`)
    const { activationId, thread } = await office.start(scout.id)
    await office.commit(scout.id, activationId)
    expect(thread?.post.id).toBe(asked)
    return thread?.post.images ?? []
  }
  expect(await seen(original.url)).toEqual([])
  const png = await upload(ada.key, samples.png)
  const asItIs = { id: png.id, type: 'image/png', width: 16, height: 8 }
  expect(await seen(png.url)).toEqual([asItIs])

  expect((await reduce(ben.key, original.id, samples.jpeg)).status).toBe(404)
  expect((await reduce(ada.key, 'none', samples.jpeg)).status).toBe(404)
  const moving = await reduce(ada.key, original.id, samples.gif)
  expect(moving.status).toBe(415)
  expect(await moving.json()).toMatchObject({ hint: expect.stringContaining('1568') })
  expect((await reduce(ada.key, original.id, largeGif(1_100_000))).status).toBe(413)
  expect(await seen(original.url)).toEqual([])

  const ids: string[] = []
  for (const body of [samples.webp, samples.jpeg]) {
    const answer = await reduce(ada.key, original.id, body)
    expect(answer.status).toBe(201)
    ids.push(((await answer.json()) as { media: Uploaded }).media.id)
  }
  const [former, reduced] = ids
  const form = { id: reduced, type: 'image/jpeg', width: 16, height: 8 }
  expect(await seen(original.url)).toEqual([form])
  expect(await see(`/media/${reduced}`)).toEqual([200, 404, 404])

  const left = async () =>
    (await office.all<{ id: string }>('SELECT id FROM media')).map(({ id }) => id)
  const sweepLater = async () => {
    hub.clock.advance(dayMs + 1)
    await sweep(hub.context(), hub.clock.now())
  }
  await sweepLater()
  expect(await left()).toEqual(expect.arrayContaining([original.id, reduced]))
  expect(await left()).not.toContain(former)
  await office.run('DELETE FROM media_uses WHERE media_id = ?', original.id)
  await sweepLater()
  await sweepLater()
  expect(await left()).not.toContain(original.id)
  expect(await left()).not.toContain(reduced)
})

test('H18: what is too large or no image is refused with what is accepted', async () => {
  const accepted = /PNG, JPEG, WebP or GIF.*8/
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
  const refusals: [BodyInit, number, string][] = [
    [svg, 415, 'UNSUPPORTED_MEDIA'],
    ['', 415, 'UNSUPPORTED_MEDIA'],
    [samples.png.slice(0, 60), 415, 'UNSUPPORTED_MEDIA'],
    [hugePng(), 413, 'TOO_LARGE'],
    [new Uint8Array(media.bytesMax + 1), 413, 'TOO_LARGE'],
  ]
  for (const [body, status, code] of refusals) {
    const answer = await send(ada.key, body, { 'content-type': 'image/png' })
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ code, hint: expect.stringMatching(accepted) })
  }
  const encoded = await send(ada.key, samples.png, { 'content-encoding': 'gzip' })
  expect(encoded.status).toBe(415)
})

/** A PNG image of 2,500 megapixels. */
function hugePng(): Uint8Array<ArrayBuffer> {
  const bytes = samples.png.slice()
  bytes.set([0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50], 16)
  return bytes
}

test('H18: a body of unknown length is refused as soon as it is too long', async () => {
  let sent = 0
  const chunk = new Uint8Array(1024 * 1024)
  const body = new ReadableStream({
    type: 'bytes',
    pull: (controller) => {
      sent += chunk.length
      controller.enqueue(chunk.slice())
      if (sent > 50 * chunk.length) controller.close()
    },
  })
  expect((await send(ada.key, body)).status).toBe(413)
  expect(sent).toBeLessThan(30 * chunk.length)
})

test('H18: nobody uploads without a key', async () => {
  expect((await send(null, samples.png)).status).toBe(401)
})

test('H18: a retry with the same key uploads nothing twice', async () => {
  const headers = { 'idempotency-key': 'once' }
  const first = (await (await send(ada.key, samples.gif, headers)).json()) as object
  const second = await send(ada.key, samples.gif, headers)
  expect(second.headers.get('idempotent-replay')).toBe('true')
  expect(await second.json()).toEqual(first)
  expect((await send(ada.key, samples.webp, headers)).status).toBe(409)
})

test('H18: the images of one account have a quota', async () => {
  const eve = await hub.join('eve', 'human')
  // Comments in a GIF image are left out; pixels are not, whatever they hold.
  const large = largeGif(400_000)
  await upload(eve.key, large)
  await upload(eve.key, large)
  const third = await send(eve.key, large)
  expect(third.status).toBe(413)
  expect(await third.json()).toMatchObject({
    code: 'TOO_LARGE',
    hint: expect.stringContaining('Delete'),
  })
  expect((await send(ada.key, samples.png)).status).toBe(201)
})

function largeGif(bytes: number): Uint8Array<ArrayBuffer> {
  const blocks = Array.from({ length: Math.floor(bytes / 256) }, () => [
    255,
    ...new Uint8Array(255),
  ])
  const header = [...new TextEncoder().encode('GIF89a'), 1, 0, 1, 0, 0, 0, 0]
  return Uint8Array.from([...header, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, ...blocks.flat(), 0, 0x3b])
}

const rows = async (...ids: string[]): Promise<number> => {
  const of = ids.map(() => '?').join()
  const found = await env.DB.prepare(`SELECT count(*) AS n FROM media WHERE id IN (${of})`)
    .bind(...ids)
    .first<{ n: number }>()
  return found?.n ?? 0
}
const files = async (...ids: string[]): Promise<number> => {
  const found = await Promise.all(ids.map((id) => env.FILES.head(`media/${id}`)))
  return found.filter((each) => each !== null).length
}

test('H18: an image that no text shows is deleted after a day, with its bytes', async () => {
  const [unused, used, freed] = [
    await upload(ada.key),
    await upload(ada.key),
    await upload(ada.key),
  ]
  await post(shown(used))
  const gone = await post(shown(freed))
  const ids = [unused.id, used.id, freed.id] as const
  await sweep(hub.context(), hub.clock.now())
  expect([await rows(...ids), await files(...ids)]).toEqual([3, 3])

  hub.clock.advance(dayMs + 1)
  await sweep(hub.context(), hub.clock.now())
  expect([await rows(...ids), await files(...ids)]).toEqual([2, 2])
  expect((await get(unused.url, ada.key)).status).toBe(404)

  await hub.call(`/posts/${gone}`, { method: 'DELETE', key: ada.key })
  await sweep(hub.context(), hub.clock.now())
  expect([await rows(used.id), await files(...ids)]).toEqual([1, 1])
  expect((await get(used.url, null)).status).toBe(200)
})

test('H18: the images of a deleted account are deleted with its words', async () => {
  const zoe = await hub.join('zoe', 'human')
  const image = await upload(zoe.key)
  await post(shown(image), 'general', zoe.key)
  expect((await get(image.url, null)).status).toBe(200)
  const path = '/accounts/zoe?words=remove'
  expect((await hub.call(path, { method: 'DELETE', key: adminKey })).status).toBe(200)
  expect((await get(image.url, null)).status).toBe(404)
  await sweep(hub.context(), hub.clock.now())
  expect([await rows(image.id), await files(image.id)]).toEqual([0, 0])
})

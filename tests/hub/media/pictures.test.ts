import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { media } from '../../../src/shared/config'
import { adminKey, createTestHub } from '../create-test-hub'
import { samples } from './samples'

const hub = createTestHub()
const dayMs = 24 * 60 * 60 * 1000

type Someone = Awaited<ReturnType<typeof hub.join>>
let ada: Someone
let ben: Someone

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  ben = await hub.join('ben', 'human')
  await hub.call('/communities', { key: adminKey, body: { name: 'general' } })
  for (const [name, visibility] of [
    ['attic', 'public'],
    ['cellar', 'private'],
  ]) {
    await hub.call('/communities', { key: ada.key, body: { name, visibility } })
  }
})

/** Sends a picture; null deletes it. */
async function send(path: string, key: string | null, file: BodyInit | null = samples.png) {
  const response = await hub.fetch(`/api/v1${path}`, {
    method: file === null ? 'DELETE' : 'PUT',
    headers: key === null ? {} : { authorization: `Bearer ${key}` },
    body: file,
  })
  // biome-ignore lint/suspicious/noExplicitAny: as each route answers
  return { status: response.status, body: (await response.json()) as any }
}

const get = (url: string, key: string | null) =>
  hub.fetch(url, { headers: key === null ? {} : { authorization: `Bearer ${key}` } })
const statusOf = async (url: string, key: string | null) => (await get(url, key)).status
const avatarOf = async (name: string): Promise<string | null> => {
  const row = await env.DB.prepare('SELECT avatar_id FROM accounts WHERE name = ?')
    .bind(name)
    .first<{ avatar_id: string | null }>()
  return row?.avatar_id ?? null
}
const pictureOf = async (name: string): Promise<string | null> =>
  (await hub.call(`/communities/${name}`, { key: ada.key })).body.community.picture_url

/** The number of rows and of files of an image. */
async function count(url: string): Promise<[number, number]> {
  const id = url.split('/').at(-1) ?? ''
  const row = await env.DB.prepare('SELECT count(*) AS n FROM media WHERE id = ?')
    .bind(id)
    .first<{ n: number }>()
  return [row?.n ?? 0, (await env.FILES.head(`media/${id}`)) ? 1 : 0]
}

test('H18: a picture has no metadata, is shown beside what its account wrote, and browsers keep it', async () => {
  const { status, body } = await send('/me/avatar', ada.key, samples.jpeg)
  expect(status).toBe(200)
  const url = body.account.avatar_url
  expect(url).toMatch(/^\/media\/avatars\/[\w-]+-16x8$/)
  expect((await hub.call('/me', { key: ada.key })).body.account.avatar_url).toBe(url)
  const file = await get(url, null)
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'image/jpeg',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, max-age=86400, immutable',
  })
  expect(new TextDecoder('latin1').decode(await file.arrayBuffer())).not.toContain('SECRET')

  const sent = { community: 'attic', title: 'A plum', content: 'Look' }
  const { post } = (await hub.call('/posts', { key: ada.key, body: sent })).body
  const body2 = { content: 'A reply' }
  await hub.call(`/posts/${post.id}/comments`, { key: ada.key, body: body2 })
  await hub.call(`/posts/${post.id}/comments`, { key: ben.key, body: body2 })
  const read = async (path: string) => (await hub.fetch(path)).text()
  const image = (side: number, size: string) =>
    `<img class="mk${size}" src="${url}" width="${side}" height="${side}" alt="" loading="lazy"/>`
  const thread = await read(`/p/${post.id}`)
  expect(thread.split(image(32, ' l'))).toHaveLength(3)
  expect(thread).toMatch(/<span class="mk l h[0-7]" aria-hidden="true">B<\/span>/)
  for (const path of ['/', '/m/attic']) expect(await read(path)).toContain(image(24, ''))
  expect(await read('/a/ada')).toContain(image(52, ' xl'))
})

test('H18: a page with pictures makes as many statements as without', async () => {
  const costs = async () => {
    const { headers } = await hub.fetch('/m/attic')
    return headers.get('server-timing')?.replace(/total;dur=[\d.]+/, '')
  }
  await send('/me/avatar', ada.key, null)
  const without = await costs()
  await send('/me/avatar', ada.key)
  expect(await costs()).toBe(without)
})

test('H18: a new picture has another address, and the one before is deleted after a day', async () => {
  const first = (await send('/me/avatar', ben.key)).body.account.avatar_url
  const second = (await send('/me/avatar', ben.key, samples.webp)).body.account.avatar_url
  expect(await statusOf(first, null)).toBe(404)
  expect(await statusOf(second, null)).toBe(200)
  hub.clock.advance(dayMs + 1)
  await sweep(hub.context(), hub.clock.now())
  expect([await count(first), await count(second)]).toEqual([
    [0, 0],
    [1, 1],
  ])
  expect((await send('/me/avatar', ben.key, null)).body.account.avatar_url).toBeNull()
  expect(await statusOf(second, null)).toBe(404)
  await sweep(hub.context(), hub.clock.now())
  expect(await count(second)).toEqual([0, 0])
})

test('H18: a retry with the same key changes nothing twice, and nothing that came after it', async () => {
  const headers = { authorization: `Bearer ${ben.key}`, 'idempotency-key': 'once' }
  const put = () => hub.fetch('/api/v1/me/avatar', { method: 'PUT', headers, body: samples.png })
  expect((await put()).status).toBe(200)
  const first = await avatarOf('ben')
  expect((await put()).status).toBe(200)
  expect(await avatarOf('ben')).toBe(first)
})

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

test('H18: what is no small still image is refused with what is accepted, and changes nothing', async () => {
  await send('/me/avatar', ada.key)
  const before = await avatarOf('ada')
  const accepted = expect.stringMatching(/PNG, JPEG, WebP or GIF.*262/)
  const refusals: [BodyInit, number, string][] = [
    [svg, 415, 'UNSUPPORTED_MEDIA'],
    [`<?xml version="1.0"?>${svg}`, 415, 'UNSUPPORTED_MEDIA'],
    ['GIF89a/*<script>alert(1)</script>*/=1;', 415, 'UNSUPPORTED_MEDIA'],
    ['', 415, 'UNSUPPORTED_MEDIA'],
    [samples.png.slice(0, 60), 415, 'UNSUPPORTED_MEDIA'],
    [samples.gif, 415, 'UNSUPPORTED_MEDIA'],
    [samples.webpAnimated, 415, 'UNSUPPORTED_MEDIA'],
    [sizedPng(50_000, 50_000), 413, 'TOO_LARGE'],
    [sizedPng(media.pictureSideMax + 1, 1), 413, 'TOO_LARGE'],
    [new Uint8Array(media.pictureBytesMax + 1), 413, 'TOO_LARGE'],
  ]
  for (const path of ['/me/avatar', '/communities/attic/picture']) {
    for (const [file, status, code] of refusals) {
      const answer = await send(path, ada.key, file)
      expect([path, answer.status]).toEqual([path, status])
      expect(answer.body).toMatchObject({ code, hint: accepted })
    }
  }
  expect(await avatarOf('ada')).toBe(before)
  expect(await pictureOf('attic')).toBeNull()
  const square = sizedPng(media.pictureSideMax, media.pictureSideMax)
  expect((await send('/me/avatar', ada.key, square)).status).toBe(200)
})

/** A PNG image that says it has this size. */
function sizedPng(width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = samples.png.slice()
  const view = new DataView(bytes.buffer)
  view.setUint32(16, width)
  view.setUint32(20, height)
  return bytes
}

test('H18: of a file that is an image and something else only the image is kept, as what it is', async () => {
  const tail = new TextEncoder().encode(`PK\u0003\u0004${svg}`)
  const both = new Uint8Array([...samples.png, ...tail])
  const headers = { authorization: `Bearer ${ada.key}`, 'content-type': 'text/html' }
  const sent = await hub.fetch('/api/v1/me/avatar', { method: 'PUT', headers, body: both })
  expect(sent.status).toBe(200)
  const { account } = (await sent.json()) as { account: { avatar_url: string } }
  const file = await get(account.avatar_url, null)
  expect(file.headers.get('content-type')).toBe('image/png')
  expect(new TextDecoder('latin1').decode(await file.arrayBuffer())).not.toContain('<script>')
})

test('H18: a body that is too long is refused long before its end', async () => {
  const chunk = new Uint8Array(1024 * 1024)
  for (const path of ['/me/avatar', '/accounts/ada/avatar', '/communities/attic/picture']) {
    let sent = 0
    const body = new ReadableStream({
      type: 'bytes',
      pull: (controller) => {
        sent += chunk.length
        controller.enqueue(chunk.slice())
        if (sent > 50 * chunk.length) controller.close()
      },
    })
    expect((await send(path, ada.key, body)).status).toBe(413)
    expect(sent).toBeLessThan(20 * chunk.length)
  }
})

test('H18: the owner of an agent sets its picture, an admin too; of a person an admin only deletes it', async () => {
  const tern = await hub.join('tern')
  await env.DB.prepare('UPDATE accounts SET owner_id = ? WHERE id = ?').bind(ada.id, tern.id).run()
  const path = '/accounts/tern/avatar'
  expect((await send(path, ben.key)).status).toBe(403)
  expect((await send(path, null)).status).toBe(401)
  expect((await send('/accounts/nobody/avatar', adminKey)).status).toBe(404)
  expect((await send(path, ada.key)).status).toBe(200)
  expect((await send(path, adminKey)).status).toBe(200)
  expect(await avatarOf('tern')).not.toBeNull()
  expect((await send(path, ada.key, null)).body.account.avatar_url).toBeNull()

  await send('/me/avatar', ben.key)
  expect((await send('/accounts/ben/avatar', adminKey)).status).toBe(403)
  expect((await send('/accounts/ben/avatar', ada.key, null)).status).toBe(403)
  expect(await avatarOf('ben')).not.toBeNull()
  expect((await send('/accounts/ben/avatar', adminKey, null)).status).toBe(200)
  expect(await avatarOf('ben')).toBeNull()
  const { body } = await hub.call('/admin/log?action=account.avatar', { key: adminKey })
  const ofBen = body.entries.filter((each: { target_id: string }) => each.target_id === ben.id)
  expect(ofBen).toMatchObject([{ before: { has_avatar: true }, after: { has_avatar: false } }])
})

test('H18: the moderators of a community set its picture, which only its readers see', async () => {
  const path = '/communities/cellar/picture'
  expect((await send(path, ben.key)).status).toBe(404)
  expect((await send('/communities/attic/picture', ben.key)).status).toBe(403)
  expect((await send(path, adminKey)).status).toBe(403)
  const { community } = (await send(path, ada.key)).body
  const url = community.picture_url
  const see = () => Promise.all([ada.key, ben.key, null, adminKey].map((key) => statusOf(url, key)))
  expect(await see()).toEqual([200, 404, 404, 404])
  // It is no picture of an account, whose address shows it to everybody.
  expect(await statusOf(url.replace('/media/', '/media/avatars/'), null)).toBe(404)
  expect((await get(url, ada.key)).headers.get('cache-control')).toBe(
    'private, max-age=0, must-revalidate',
  )
  const member = '/communities/cellar/members/ben'
  await hub.call(member, { method: 'PUT', key: ada.key, body: { role: 'member' } })
  expect(await see()).toEqual([200, 200, 404, 404])
  expect((await send(path, ben.key)).status).toBe(403)
  await hub.call(member, { method: 'DELETE', key: ada.key })
  expect(await see()).toEqual([200, 404, 404, 404])

  const shown = (await send('/communities/attic/picture', ada.key)).body.community.picture_url
  expect(await (await hub.fetch('/m')).text()).toContain(`<img class="mk s" src="${shown}"`)
  expect(await (await hub.fetch('/m/attic')).text()).toContain(
    `<img class="mk s xl" src="${shown}"`,
  )
  hub.clock.advance(dayMs + 1)
  await sweep(hub.context(), hub.clock.now())
  expect(await count(shown)).toEqual([1, 1])
  expect((await send('/communities/attic/picture', ada.key, null)).status).toBe(200)
  expect(await pictureOf('attic')).toBeNull()
  expect(await statusOf(shown, null)).toBe(404)
})

test.each(['keep', 'remove'])(
  'H18: the picture of a deleted account is deleted, whether its words stay (%s)',
  async (words) => {
    const zoe = await hub.join(`zoe-${words}`, 'human')
    const url = (await send('/me/avatar', zoe.key)).body.account.avatar_url
    await hub.call('/communities', { key: zoe.key, body: { name: `zoo-${words}` } })
    await send(`/communities/zoo-${words}/picture`, zoe.key)
    const path = `/accounts/${zoe.name}?words=${words}`
    expect((await hub.call(path, { method: 'DELETE', key: adminKey })).status).toBe(200)
    expect(await statusOf(url, null)).toBe(404)
    // What it uploaded for others to see stays as its words do.
    expect((await pictureOf(`zoo-${words}`)) === null).toBe(words === 'remove')
    hub.clock.advance(dayMs + 1)
    await sweep(hub.context(), hub.clock.now())
    expect(await count(url)).toEqual([0, 0])
  },
)

test('H18: the pictures of an account count for its quota', async () => {
  const small = createTestHub({ ROOKERY_MEDIA_QUOTA_MB: '1' })
  const eve = await small.join('eve', 'human')
  await env.DB.prepare(
    `INSERT INTO media (id, account_id, type, bytes, width, height, created_at)
     VALUES ('used-1x1', ?, 'image/png', 999999, 1, 1, ?)`,
  )
    .bind(eve.id, small.clock.now())
    .run()
  const init = {
    method: 'PUT',
    headers: { authorization: `Bearer ${eve.key}` },
    body: samples.png,
  }
  const answer = await small.fetch('/api/v1/me/avatar', init)
  expect(answer.status).toBe(413)
  expect(await answer.json()).toMatchObject({ hint: expect.stringContaining('Delete') })
  expect(await avatarOf('eve')).toBeNull()
})

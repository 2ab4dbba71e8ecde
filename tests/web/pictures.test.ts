import { beforeAll, expect, test } from 'vitest'
import { createTestHub } from '../hub/create-test-hub'
import { samples } from '../hub/media/samples'
import { type Browser, signIn } from './open-pages'

const hub = createTestHub()
let mira: Browser
let owen: Browser
beforeAll(async () => {
  const key = (await hub.join('mira', 'human')).key
  mira = await signIn(hub, key)
  owen = await signIn(hub, (await hub.join('owen', 'human')).key)
  await hub.call('/communities', { key, body: { name: 'attic' } })
})

const send = (
  { cookie }: Browser,
  path: string,
  file: Uint8Array<ArrayBuffer> | null,
  origin = 'http://hub.test',
) => {
  const form = new FormData()
  if (file) form.set('file', new File([file], 'plum.png', { type: 'image/png' }))
  else form.set('delete', 'yes')
  const headers = {
    cookie,
    origin,
    'sec-fetch-site': origin === 'http://hub.test' ? 'same-origin' : 'cross-site',
    accept: 'text/html',
  }
  return hub.fetch(path, { method: 'POST', headers, body: form, redirect: 'manual' })
}

test.each([
  ['/settings/picture', '/settings', 'xl'],
  ['/m/attic/picture', '/m/attic/settings', 's xl'],
])('H18: without a script %s sets and deletes a picture', async (path, page, size) => {
  const image = new RegExp(`<img class="mk ${size}" src="/media/[\\w/-]+" width="52"`)
  expect(await mira.read(page)).toMatch(
    new RegExp(`action="${path}" enctype="multipart/form-data"`),
  )
  expect(await mira.read(page)).not.toMatch(image)
  const saved = await send(mira, path, samples.png)
  expect([saved.status, saved.headers.get('location')]).toEqual([303, page])
  expect(await mira.read(page)).toMatch(image)
  expect((await send(mira, path, null)).status).toBe(303)
  expect(await mira.read(page)).not.toMatch(image)
})

test.each(['/settings/picture', '/m/attic/picture'])(
  'H18: %s says why a file is not taken',
  async (path) => {
    const animated = await send(mira, path, samples.gif)
    expect(animated.status).toBe(415)
    expect(await animated.text()).toMatch(/role="alert"[\s\S]*animated[\s\S]*262/)
    expect((await send(mira, path, new Uint8Array(300_000))).status).toBe(413)
    expect((await send(mira, path, new Uint8Array(0))).status).toBe(415)
  },
)

test('H18: only a moderator gets and sends the form of a community, and no other site sends one', async () => {
  expect(await owen.read('/m/attic/settings')).not.toContain('/m/attic/picture')
  expect((await send(owen, '/m/attic/picture', samples.png)).status).toBe(403)
  for (const path of ['/settings/picture', '/m/attic/picture', '/a/owen/picture']) {
    expect((await send(mira, path, samples.png, 'https://evil.test')).status).toBe(403)
  }
})

test('H18: an admin sets the picture of an agent on its page, and deletes that of a person there', async () => {
  await hub.join('tern')
  const admin = await signIn(hub)
  expect(await admin.read('/a/tern')).toContain('action="/a/tern/picture"')
  expect(await owen.read('/a/tern')).not.toContain('action="/a/tern/picture"')
  expect((await send(admin, '/a/tern/picture', samples.png)).status).toBe(303)
  expect(await admin.read('/a/tern')).toMatch(/<img class="mk a xl" src="\/media\/avatars\//)
  expect(await admin.read('/a/owen')).not.toContain('action="/a/owen/picture"')
  await send(owen, '/settings/picture', samples.png)
  expect(await admin.read('/a/owen')).toContain('Delete picture')
  expect((await send(admin, '/a/owen/picture', null)).status).toBe(303)
  expect(await owen.read('/settings')).not.toContain('/media/avatars/')
})

test('H18: images can be added to a first message, and to an edited post and reply', async () => {
  const post = await owen.send('/posts-new', {
    title: 'A plum',
    content: 'Look',
    community: 'attic',
  })
  const [path = ''] = (post.headers.get('location') ?? '').split('?')
  const reply = await owen.send(`${path}/comments`, { post_id: path.slice(3), content: 'A reply' })
  const [, comment = ''] = /comment=([\w-]+)/.exec(reply.headers.get('location') ?? '') ?? []
  for (const form of ['/dm?to=mira', `${path}/edit`, `${path}/edit?comment=${comment}`]) {
    expect(await owen.read(form)).toContain('data-image')
  }
})

import { beforeAll, expect, test } from 'vitest'
import { createTestHub } from '../hub/create-test-hub'
import { samples } from '../hub/media/samples'
import { type Browser, signIn } from './open-pages'

const hub = createTestHub()
let browser: Browser
beforeAll(async () => {
  browser = await signIn(hub, (await hub.join('mira', 'human')).key)
})

const upload = (bytes: Uint8Array<ArrayBuffer> | null, alt: string, origin = 'http://hub.test') => {
  const form = new FormData()
  if (bytes) form.set('file', new File([bytes], 'plum.png', { type: 'image/png' }))
  form.set('alt', alt)
  const headers = {
    cookie: browser.cookie,
    origin,
    'sec-fetch-site': origin === 'http://hub.test' ? 'same-origin' : 'cross-site',
    accept: 'text/html',
  }
  return hub.fetch('/images', { method: 'POST', headers, body: form, redirect: 'manual' })
}

test('H18: without a script a form uploads an image, and says what to write', async () => {
  expect(await browser.read('/')).toContain('<a class="meta" href="/images"')
  expect(await browser.read('/images')).toContain('enctype="multipart/form-data"')
  const uploaded = await upload(samples.png, 'a [ripe] plum')
  expect(uploaded.status).toBe(303)
  const page = await browser.read(uploaded.headers.get('location') ?? '')
  const [, markdown = ''] = /<code>(!\[[^<]*)<\/code>/.exec(page) ?? []
  expect(markdown).toMatch(/^!\[a ripe plum\]\(\/media\/[\w-]+-16x8\)$/)
  const fields = { title: 'Plums', content: markdown, community: 'general' }
  const sent = await browser.send('/posts-new', fields)
  const thread = await hub.fetch(sent.headers.get('location') ?? '')
  const html = await thread.text()
  expect(html).toMatch(
    /<img src="\/media\/[^"]+" width="16" height="8" alt="a ripe plum" loading="lazy">/,
  )
  const [, path = ''] = /<img src="([^"]+)"/.exec(html) ?? []
  const image = await hub.fetch(path)
  expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png'])
})

test('H18: the form says why a file is not taken', async () => {
  const refused = await upload(samples.png.slice(0, 50), '')
  expect(refused.status).toBe(415)
  expect(await refused.text()).toMatch(
    /role="alert"[\s\S]*ends before its image[\s\S]*PNG, JPEG, WebP or GIF/,
  )
  expect((await upload(null, '')).status).toBe(400)
  const large = await upload(new Uint8Array(9 * 1024 * 1024), '')
  expect(large.status).toBe(413)
})

test('H18: another site cannot upload with a person’s session', async () => {
  expect((await upload(samples.png, '', 'https://evil.test')).status).toBe(403)
})

import { beforeAll, expect, test } from 'vitest'
import { samples } from '../media/samples'
import { createDialectHub, type DialectHub, toTheirKey } from './create-dialect-hub'

let dialect: DialectHub
let key: string
beforeAll(async () => {
  dialect = createDialectHub()
  key = toTheirKey((await dialect.join('mira', 'human')).key)
  await dialect.send('/api/v1/submolts', { key, body: { name: 'attic' } })
})

/** Sends a form as existing clients do. */
async function send(path: string, fields: Record<string, string | Uint8Array<ArrayBuffer>>) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') form.set(name, value)
    else form.set(name, new File([value], 'plum.png', { type: 'image/png' }))
  }
  const headers = { authorization: `Bearer ${key}` }
  const response = await dialect.hub.fetch(path, { method: 'POST', headers, body: form })
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return { status: response.status, body: (await response.json()) as any }
}

test('H3, H18: existing clients send pictures in forms', async () => {
  const sent = await send('/api/v1/agents/me/avatar', { file: samples.png })
  expect(sent.status).toBe(200)
  const url = sent.body.agent.avatar_url
  expect((await dialect.hub.fetch(url)).headers.get('content-type')).toBe('image/png')
  const fields = { file: samples.webp, type: 'avatar' }
  const { body } = await send('/api/v1/submolts/attic/settings', fields)
  const shown = await dialect.hub.fetch(body.submolt.picture_url)
  expect(shown.headers.get('content-type')).toBe('image/webp')
  for (const path of ['/agents/me/avatar', '/submolts/attic/picture']) {
    const { status } = await dialect.send(`/api/v1${path}`, { method: 'DELETE', key })
    expect(status).toBe(200)
  }
  expect((await dialect.hub.fetch(url)).status).toBe(404)
})

test('H3, H18: a form without a picture, or with one that is not taken, is refused', async () => {
  const path = '/api/v1/submolts/attic/settings'
  expect((await send(path, { file: 'text' })).status).toBe(400)
  expect((await send(path, { file: samples.png, type: 'banner' })).status).toBe(400)
  expect((await send(path, { file: samples.gif })).status).toBe(415)
  expect((await send(path, { file: new Uint8Array(300_000) })).status).toBe(413)
  expect((await send(path, { file: new Uint8Array(9_000_000) })).status).toBe(413)
})

import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira } = await createScene()
const stranger = createBrowser(hub)
const readStatus = (html: string): string =>
  [...html.matchAll(/<p class="up4" role="status">([\s\S]*?)<\/p>/g)]
    .map(([, text = '']) => text.replace(/<[^>]*>/g, ''))
    .join(' ')

test('pages: a search with an author and no words asks for words, and leads to the page of the author', async () => {
  const html = await stranger.read(`/search?author=@${mira.name}`)
  expect(readStatus(html)).toContain('Enter the words to search for.')
  expect(html).toContain(`href="/a/${mira.name}"`)
  expect(readStatus(await stranger.read(`/search?q=latency&author=@${mira.name}`))).toBe('')
  expect(readStatus(await stranger.read('/search'))).toBe('')
  // words that are none
  expect(readStatus(await stranger.read('/search?q=...&within=day'))).toContain('Enter the words')
})

test('pages: a search in a community that there is not says so', async () => {
  const html = await stranger.read('/search?q=latency&community=m/nowhere')
  expect(readStatus(html)).toContain('There is no community m/nowhere that you can read.')
  expect(html).not.toContain('No results.')
  expect(readStatus(await stranger.read('/search?q=latency&community=general'))).toBe('')
})

test('pages: a guest who creates a community is not asked for a visibility that guests cannot choose', async () => {
  const guest = await hub.join('gil', 'human')
  await env.DB.prepare("UPDATE accounts SET role = 'guest' WHERE id = ?").bind(guest.id).run()
  const browser = await signIn(hub, guest.key)
  const html = await browser.read('/communities-new')
  expect(html).not.toContain('<option value="private"')
  expect(html).toContain('Your community is public')
  const fields = [...html.matchAll(/<(?:input|select)[^>]* name="(\w+)"[^>]*value="([^"]*)"/g)]
  const created = await browser.send('/communities-new', {
    ...Object.fromEntries(fields.map(([, name, value]) => [name, value])),
    name: 'gils-place',
    follow_threads: 'true',
  })
  expect([created.status, await created.clone().text()]).toEqual([303, ''])
  expect(created.headers.get('location')).toBe('/m/gils-place')
  expect(await (await signIn(hub)).read('/communities-new')).toContain('<option value="private"')
})

import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createBrowser, createScene, signIn } from './open-pages'

const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

/** Returns the scripts, handlers and script URLs in a page, as a browser would parse them. */
async function findActive(html: string): Promise<string[]> {
  const found: string[] = []
  const rewriter = new HTMLRewriter().on('*', {
    element(element) {
      const { tagName } = element
      if (['img', 'iframe', 'object', 'style', 'base'].includes(tagName)) found.push(tagName)
      if (tagName === 'script' && !element.getAttribute('src')) found.push('script')
      for (const [name, value] of element.attributes) {
        if (name?.startsWith('on')) found.push(name)
        if (/^\s*(javascript|data|vbscript):/i.test(value ?? '')) found.push(value ?? '')
      }
    },
  })
  await rewriter.transform(new Response(html)).text()
  return found
}

test('pages: text of users is escaped on every page', async () => {
  const { hub, mira, scout } = await createScene()
  await env.DB.prepare('UPDATE accounts SET description = ?1, display_name = ?1 WHERE id = ?2')
    .bind(attack, scout.id)
    .run()
  await env.DB.prepare(
    "INSERT INTO communities (id, name, display_name, description, created_at) VALUES ('x', 'attacked', ?1, ?1, 0)",
  )
    .bind(attack)
    .run()
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: {
      community: 'attacked',
      title: attack,
      content: `${attack}\n\n[a](javascript:alert(1))`,
    },
  })
  const thread = `/p/${body.post.id}`
  const browser = await signIn(hub)
  await browser.send(`${thread}/comments`, { content: attack })
  const query = encodeURIComponent(attack)
  const pages = [
    '/',
    '/m',
    '/m/attacked',
    thread,
    `/a/${scout.name}`,
    `/search?q=${query}`,
    `/search?q=alert`,
    `/?ask=${query}`,
    `/login?next=${query}`,
    `${thread}?reply_to=${query}`,
    `/audit?account=${query}&tool=${query}`,
    '/policy',
    '/tools',
  ]
  for (const path of pages) {
    const html = await browser.read(path)
    expect(await findActive(html), path).toEqual([])
  }
  const failed = await browser.send('/posts-new', {
    community: attack,
    title: attack,
    content: attack,
  })
  expect(await findActive(await failed.text())).toEqual([])
  expect(await createBrowser(hub).read(thread)).toContain('&lt;script&gt;')
})

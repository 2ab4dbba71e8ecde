import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createScene, signIn } from './open-pages'

/** Turns all that follows on its line, and is never closed. */
const turning = '\u202eelttil \u2067\u202d'

/** Returns the texts with the mark that stand in no element of their own, by the nearest one. */
async function findLoose(html: string): Promise<string[]> {
  const loose: string[] = []
  const open: string[] = []
  const apart = new Set(['bdi', 'h1', 'title', 'textarea', 'option'])
  const rewriter = new HTMLRewriter().on('*', {
    element(element) {
      const { tagName } = element
      const isHidden = /\bvh\b/.test(element.getAttribute('class') ?? '')
      // What is written is in paragraphs of its own.
      const isText = /\b(prose|excerpt|words)\b/.test(element.getAttribute('class') ?? '')
      try {
        element.onEndTag(() => void open.pop())
      } catch {
        // It has no end.
        return
      }
      open.push(apart.has(tagName) || isHidden || isText ? `(${tagName})` : tagName)
    },
    text({ text }) {
      if (text.includes('\u202e') && !open.some((name) => name.startsWith('('))) {
        loose.push(open.slice(-3).join(' '))
      }
    },
  })
  await rewriter.transform(new Response(html)).text()
  return loose
}

test('pages: direction marks in titles and names turn nothing beside them', async () => {
  const { hub, mira, scout, postId, activationId } = await createScene()
  const community = 'turned'
  await hub.call('/communities', {
    key: mira.key,
    body: { name: community, display_name: `${turning} place` },
  })
  await hub.call('/me', {
    key: mira.key,
    method: 'PATCH',
    body: { display_name: `${turning} mira` },
  })
  hub.clock.advance(60_000)
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community, title: `${turning} title`, content: `@${scout.name} why?` },
  })
  const turned = body.post.id as string
  await env.DB.batch([
    env.DB.prepare('UPDATE posts SET title = ? WHERE id = ?').bind(`${turning} old`, postId),
    env.DB.prepare('UPDATE posts SET pinned_at = 1 WHERE id = ?').bind(turned),
  ])
  await hub.call(`/posts/${turned}/comments`, {
    key: scout.key,
    body: { content: `@${mira.name}` },
  })
  await hub.call(`/posts/${turned}/report`, { key: scout.key, body: { reason: 'Odd' } })
  const [own, admin] = [await signIn(hub, mira.key), await signIn(hub)]
  const paths = [
    '/',
    '/?sort=new',
    '/m',
    `/m/${community}`,
    `/p/${turned}`,
    `/p/${turned}/edit`,
    `/a/${mira.name}`,
    `/a/${scout.name}`,
    '/agents',
    '/inbox',
    '/search?q=title',
    '/runs',
    `/activations/${activationId}`,
    '/scheduler',
    `/m/${community}/settings`,
    `/agents/${scout.name}/why-quiet?post=${turned}`,
    `/p/${turned}/report`,
  ]
  let shown = 0
  for (const browser of [own, admin]) {
    const adminPaths = ['/moderation', '/admin/people', `/admin/people/${mira.name}`]
    for (const path of browser === admin ? [...paths, ...adminPaths] : paths) {
      const html = await browser.read(path)
      if (html.includes('\u202e')) shown++
      expect([path, ...(await findLoose(html))]).toEqual([path])
    }
  }
  expect(shown).toBeGreaterThan(20)
})

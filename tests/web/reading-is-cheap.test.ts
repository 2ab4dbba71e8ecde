import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { renderAgain } from '../../src/hub/markdown/render-again'
import { htmlVersion, type TextTable } from '../../src/hub/markdown/render-text'
import { renderedTexts } from '../../src/shared/config'
import { createDb } from '../../src/shared/db/db'
import { renderTotals } from '../../src/shared/markdown/render-markdown'
import { createTestHub, readCost } from '../hub/create-test-hub'
import { createBrowser, createScene, form } from './open-pages'

const hub = createTestHub()
let postId: string
let mira: Awaited<ReturnType<typeof hub.join>>
const commentIds: string[] = []

/** Nested lists: the most expensive text that the limits for markup let through. */
const nested = (charsMax: number) => {
  const block = Array.from({ length: 20 }, (_, depth) => `${'  '.repeat(depth)}- a *b*\n`).join('')
  return block.repeat(Math.ceil(charsMax / block.length)).slice(0, charsMax)
}

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Lists', content: nested(40_000) },
  })
  postId = body.post.id
  for (let n = 0; n < 250; n++) {
    hub.clock.advance(1)
    const { body: added } = await hub.call(`/posts/${postId}/comments`, {
      key: mira.key,
      body: { content: `${n} ${nested(n < 200 ? 500 : 9_990)}` },
    })
    commentIds.push(added.comment.id)
  }
})

async function readThread(query = '') {
  const before = renderTotals.texts
  const response = await hub.fetch(`/p/${postId}${query}`)
  const html = await response.text()
  const shown = [...html.matchAll(/<article class="reply" id="c-([^"]+)"/g)].map(([, id]) => id)
  return { html, shown, rendered: renderTotals.texts - before, cost: readCost(response.headers) }
}

const hrefOf = (html: string, label: string): string => {
  const link = new RegExp(`<a href="[^"?]*([^"]*)">${label}</a>`).exec(html)?.[1] ?? ''
  return link.replaceAll('&amp;', '&')
}

test('T15: a page parses no Markdown and shows at most 50 comments in bounded bytes, whatever was written', async () => {
  const { html, shown, rendered, cost } = await readThread()
  expect(rendered).toBe(0)
  expect(shown).toEqual(commentIds.slice(200))
  expect(html.length).toBeLessThan(2 * renderedTexts.pageHtmlCharsMax)
  expect(cost.roundTrips).toBe(1)
  expect(cost.rowsRead).toBeLessThan(800)
})

test('T15: beyond the length of a page comments are excerpts with a link, the linked one is whole', async () => {
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Names', content: '' },
  })
  const ids: string[] = []
  // of 10,000 characters the renderer makes ten times as many
  for (let n = 0; n < 14; n++) {
    hub.clock.advance(1)
    const { body: added } = await hub.call(`/posts/${body.post.id}/comments`, {
      key: mira.key,
      body: { content: '- [ ] @ab\n'.repeat(1_000) },
    })
    ids.push(added.comment.id)
  }
  const read = async (query: string) => {
    const html = await (await hub.fetch(`/p/${body.post.id}${query}`)).text()
    const articles = html.split('<article class="reply"').slice(1)
    return { html, excerpts: articles.map((each) => each.includes('Show all')) }
  }
  const newest = await read('')
  expect(newest.html.length).toBeLessThan(2 * renderedTexts.pageHtmlCharsMax)
  expect(newest.excerpts.indexOf(false)).toBeGreaterThan(2)
  expect(newest.excerpts.at(-1)).toBe(false)
  expect((await read(`?comment=${ids[0]}`)).excerpts[0]).toBe(false)
})

test('T15: links lead to all comments of a thread without a script, each on one page', async () => {
  let page = await readThread()
  const seen: (string | undefined)[] = [...page.shown]
  for (let pages = 1; hrefOf(page.html, 'Earlier replies') !== ''; pages++) {
    expect(pages).toBeLessThan(6)
    page = await readThread(hrefOf(page.html, 'Earlier replies'))
    seen.unshift(...page.shown)
    expect(page.rendered).toBe(0)
    expect(page.html).toContain('Newest replies')
  }
  expect(seen).toEqual(commentIds)
  const later = await readThread(hrefOf(page.html, 'Later replies'))
  expect(later.shown).toContain(commentIds[50])
})

test('T15: a link to a comment opens the page that shows it whole', async () => {
  for (const index of [0, 100, 249]) {
    const id = commentIds[index] as string
    const { shown, html, rendered, cost } = await readThread(`?comment=${id}`)
    expect(shown).toContain(id)
    expect(shown.length).toBeLessThanOrEqual(50)
    expect([rendered, cost.roundTrips]).toEqual([0, 1])
    expect(cost.rowsRead).toBeLessThan(1_000)
    const article = html.slice(html.indexOf(`id="c-${id}"`)).split('<article')[0] ?? ''
    expect(article).not.toContain('Show all')
    expect(article).toContain(`href="/p/${postId}?comment=${id}#c-${id}"`)
  }
  expect((await readThread('?comment=unknown')).shown).toEqual(commentIds.slice(200))
  expect((await readThread(`?reply_to=${commentIds[3]}`)).html).toContain('reply_to')
})

test('T15: a reply to a comment of another page says so, and leads there', async () => {
  hub.clock.advance(1)
  const parent = commentIds[5] as string
  await hub.call(`/posts/${postId}/comments`, {
    key: mira.key,
    body: { content: 'Late reply.', parent_id: parent },
  })
  const { html } = await readThread()
  const [, article = ''] = html.split('Late reply.')[0]?.split(/<article(?=[^<]*data-parent)/) ?? []
  expect(article).toContain(`data-parent="c-${parent}"`)
  expect(article).toContain(`?comment=${parent}#c-${parent}">in reply to an earlier reply`)
})

const columns = (table: string, id: string) =>
  env.DB.prepare(`SELECT html, html_version AS version FROM ${table} WHERE id = ?`)
    .bind(id)
    .first<{ html: string | null; version: number }>()

test('T15: every way to write stores the HTML of the text, once', async () => {
  const before = renderTotals.texts
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'A', content: '*a*' },
  })
  const id = body.post.id as string
  expect(renderTotals.texts - before).toBe(1)
  expect(await columns('posts', id)).toEqual({ html: '<p><em>a</em></p>', version: htmlVersion })
  await hub.call(`/posts/${id}`, { method: 'PATCH', key: mira.key, body: { content: '# b' } })
  expect((await columns('posts', id))?.html).toBe('<h2>b</h2>')
  await hub.call(`/posts/${id}`, { method: 'PATCH', key: mira.key, body: { title: 'B' } })
  expect((await columns('posts', id))?.html).toBe('<h2>b</h2>')

  const added = await hub.call(`/posts/${id}/comments`, { key: mira.key, body: { content: '# c' } })
  const commentId = added.body.comment.id as string
  expect((await columns('comments', commentId))?.html).toBe('<h3>c</h3>')
  const change = { method: 'PATCH', key: mira.key, body: { content: '**d**' } }
  await hub.call(`/comments/${commentId}`, change)
  expect((await columns('comments', commentId))?.html).toBe('<p><strong>d</strong></p>')

  const tomas = await hub.join('tomas', 'human')
  const sent = await hub.fetch('/api/v1/conversations', {
    ...form({}),
    headers: { authorization: `Bearer ${tomas.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: mira.name, content: '`e`' }),
  })
  expect(sent.status).toBeLessThan(300)
  const message = await env.DB.prepare('SELECT html FROM direct_messages').first('html')
  expect(message).toBe('<p><code>e</code></p>')
})

test('T15: a text that an earlier version rendered is shown, and rendered again after the response, a few per page', async () => {
  const scene = await createScene()
  const run = (sql: string) => env.DB.prepare(sql).bind(scene.postId).run()
  const insert = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15)
    INSERT INTO comments (id, post_id, author_id, content, created_at)
    SELECT 'old-' || i, ?1, (SELECT author_id FROM posts WHERE id = ?1), '*old* <b>', i FROM n`
  await run(insert)
  const outdated = () =>
    env.DB.prepare('SELECT count(*) FROM comments WHERE post_id = ? AND html_version < 1')
      .bind(scene.postId)
      .first('count(*)')
  const count = await outdated()
  const html = await createBrowser(scene.hub).read(`/p/${scene.postId}`)
  expect(html).toContain('<p>*old* &lt;b&gt;</p>')
  expect(await outdated()).toBe(Number(count) - renderedTexts.renderedAgainMax)
  await createBrowser(scene.hub).read(`/p/${scene.postId}`)
  expect(await outdated()).toBe(0)
  expect(await createBrowser(scene.hub).read(`/p/${scene.postId}`)).toContain(
    '<em>old</em> &lt;b&gt;',
  )
})

/** Renders a text again, as after a page; the process is taken down while it renders, or not. */
async function renderAgainIn(
  process: 'that goes on' | 'that is taken down',
  table: TextTable,
  id: string,
) {
  let batches = 0
  const binding = new Proxy(env.DB, {
    get: (target, name) => {
      if (name !== 'batch') return Reflect.get(target, name).bind(target)
      return (statements: D1PreparedStatement[]) => {
        // one to read the text, one before it is rendered, one after
        batches++
        if (batches > 2 && process === 'that is taken down') throw new Error('taken down')
        return target.batch(statements)
      }
    },
  })
  const work: Promise<unknown>[] = []
  const context = { db: createDb(binding), defer: (each: Promise<unknown>) => work.push(each) }
  const { version } = (await columns(tableNames[table], id)) ?? { version: 0 }
  renderAgain(context as never, table, [{ id, htmlVersion: version }])
  await Promise.allSettled(work)
  return { batches, ...(await columns(tableNames[table], id)) }
}

const tableNames = { posts: 'posts', comments: 'comments', messages: 'direct_messages' } as const

test.each(['posts', 'comments', 'messages'] as const)(
  'T15 L36: one of the %s that took the process down twice while it was rendered is plain text, and not rendered again',
  async (table) => {
    const name = tableNames[table]
    const id = await env.DB.prepare(`SELECT id FROM ${name} LIMIT 1`).first<string>('id')
    if (!id) throw new Error('no text')
    const reset = () =>
      env.DB.prepare(
        `UPDATE ${name} SET content = '*old*', html = '<p>before</p>', html_version = 0 WHERE id = ?`,
      )
        .bind(id)
        .run()

    // once: it is tried again
    await reset()
    expect(await renderAgainIn('that is taken down', table, id)).toMatchObject({
      html: '<p>before</p>',
      version: -htmlVersion,
    })
    expect(await renderAgainIn('that goes on', table, id)).toMatchObject({
      html: '<p><em>old</em></p>',
      version: htmlVersion,
    })

    // twice: a page shows its plain form, and nothing is tried
    await reset()
    await renderAgainIn('that is taken down', table, id)
    const plain = { html: expect.stringContaining('<p>*old*</p>'), version: htmlVersion }
    expect(await renderAgainIn('that is taken down', table, id)).toMatchObject(plain)
    expect(await renderAgainIn('that goes on', table, id)).toEqual({ batches: 0, ...plain })
  },
)

test('T15: the HTML of a deleted comment is not sent', async () => {
  const id = commentIds[249] as string
  hub.clock.advance(1)
  await hub.call(`/posts/${postId}/comments`, {
    key: mira.key,
    body: { content: 'Why?', parent_id: id },
  })
  await hub.call(`/comments/${id}`, { method: 'DELETE', key: mira.key })
  const { html } = await readThread(`?comment=${id}`)
  const article = html.slice(html.indexOf(`id="c-${id}"`)).split('<article')[0] ?? ''
  expect(article).toContain('This reply was deleted.')
  expect(article).not.toContain('249 ')
})

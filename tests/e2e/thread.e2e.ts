import type { Browser, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  callApi,
  launchBrowser,
  openPage,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

let hub: RunningHub
let browser: Browser

beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

const open = (options: Parameters<typeof openSignedIn>[2] = {}) =>
  openSignedIn(browser, hub, options)

/** Adds a comment of another user while the thread is open. */
const addComment = (postId: string, content: string) =>
  callApi(hub, 'POST', `/posts/${postId}/comments`, { content })

test('story: the printed link signs in, @scout is asked, its answer arrives without a reload', async () => {
  const context = await browser.newContext()
  const { page, errors } = await openPage(context)
  await page.goto(hub.signInLink)
  await page.click('main button[type=submit]')
  await page.waitForURL(`${hub.url}/`)
  expect(await page.textContent('header')).toContain('admin')

  await page.fill('#new', 'The answer to everything is in the almanac')
  await page.fill('#content', 'Page 42 of the almanac says that tide tables are printed in May.')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)

  await page.goto(hub.url)
  await page.fill('#new', 'When are tide tables printed?')
  await page.fill('#content', '@scout when are the tide tables of the almanac printed?')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  const answers = page.locator('article.reply[data-author=scout]')
  await answers.first().waitFor()
  expect(await answers.first().textContent()).toContain('tide tables')
  await expect.poll(() => page.locator('[data-activation]').count()).toBe(0)

  // The offline model may be done before the page is there, so the proof is a page that was open first.
  await page.evaluate(() => {
    document.body.dataset.notReloaded = 'yes'
  })
  const question = '@scout and what else is in the almanac?'
  await addComment(new URL(page.url()).pathname.slice('/p/'.length), question)
  await expect.poll(() => answers.count()).toBe(2)
  await expect.poll(() => page.getByText('scout follows this thread').count()).toBe(1)
  expect(await answers.last().textContent()).toContain('scout follows this thread')
  const answer = page.locator('article.reply article.reply[data-author=scout]')
  expect(await answer.locator('.prov').textContent()).toMatch(/completed.*offline model, free/)
  expect(await page.evaluate(() => document.body.dataset.notReloaded)).toBe('yes')
  await expect.poll(() => page.locator('[data-activation]').count()).toBe(0)
  await expect.poll(() => page.textContent('#announce')).toMatch(/repl.* by .*scout/)

  await answer.getByRole('link', { name: 'View run' }).click()
  await page.waitForURL(/\/activations\//)
  expect(await page.textContent('h1')).toContain('Run of scout')
  expect(await page.textContent('.trace')).toContain('hub.search')
  expect(errors).toEqual([])
  await context.close()
})

test('C5: what a text would do appears below the form once typing stops; its script is loaded then', async () => {
  const { context, page, errors } = await open()
  const scripts = () => page.evaluate(() => performance.getEntriesByType('resource').length)
  const before = await scripts()
  await page.locator('#content').pressSequentially('@scout which plums?')
  // Between two keys typing may stop for as long, so the first one may be of half a text.
  await expect
    .poll(() => page.textContent('#promise'))
    .toMatch(/scout.*answers.*costs nothing.*\d+\stools.*hub\.search/s)
  expect(await scripts()).toBeGreaterThan(before)
  await page.fill('#content', 'Thanks')
  await expect.poll(() => page.textContent('#promise')).toContain('wakes no agent')
  expect(errors).toEqual([])
  await context.close()
})

test('live: a reply of another user appears in place, below its parent', async () => {
  const mine = await open()
  await mine.page.fill('#new', 'A thread for two')
  await mine.page.click('main form.say button.go')
  await mine.page.waitForURL(/\/p\//)
  await mine.page.fill('#reply', 'First word')
  await mine.page.click('main form.say button[type=submit]')
  await mine.page.waitForURL(/#c-/)
  const url = mine.page.url().replace(/#.*/, '')
  const theirs = await open()
  await theirs.page.goto(url)
  await theirs.page.getByRole('link', { name: 'Reply to', exact: false }).first().click()
  await theirs.page.fill('#reply-to', 'Second word')
  await theirs.page.locator('article.reply form.say .btn.go').click()
  await mine.page.locator('article.reply article.reply', { hasText: 'Second word' }).waitFor()
  await expect.poll(() => mine.page.textContent('#count')).toContain('2')
  expect(await mine.page.textContent('.branch > summary')).toMatch(/^1\sreply to admin$/)
  await mine.page.locator('.branch > summary').click()
  expect(await mine.page.getByText('Second word').isVisible()).toBe(false)
  expect([...mine.errors, ...theirs.errors]).toEqual([])
  await mine.context.close()
  await theirs.context.close()
})

test('the menu of a text closes on Escape, copies its link, and quotes below what is typed', async () => {
  const { context, page, errors } = await open({
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.fill('#new', 'A thread to quote')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  await addComment(new URL(page.url()).pathname.slice('/p/'.length), 'A claim\n\nand another')
  const reply = page.locator('article.reply', { hasText: 'A claim' })
  await reply.waitFor()
  const menu = reply.locator('summary', { hasText: 'More for the reply by admin' })
  await menu.click()
  const link = reply.getByRole('link', { name: 'Copy link' })
  // The script is loaded by the first menu that opens.
  await expect
    .poll(async () => {
      await page.keyboard.press('Escape')
      return link.isVisible()
    })
    .toBe(false)
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY')
  await menu.click()
  await link.click()
  await expect.poll(() => page.textContent('#announce')).toBe('Link copied')
  await reply.getByText('Link copied').waitFor()
  await link.waitFor()
  await page.keyboard.press('Escape')
  expect(await link.isVisible()).toBe(false)
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/\?comment=.*#c-/)
  await page.fill('#reply', 'Before.')
  await menu.click()
  await reply.getByRole('link', { name: 'Quote' }).click()
  await expect
    .poll(() => page.inputValue('#reply'))
    .toBe('Before.\n\n> A claim\n>\n> and another\n\n')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('reply')
  expect(errors).toEqual([])
  await context.close()
})

test('H16: a page whose socket broke shows every comment made meanwhile', async () => {
  const { context, page, errors } = await open()
  const sockets: WebSocketRoute[] = []
  await page.routeWebSocket(/\/live\/posts\//, (socket) => {
    sockets.push(socket)
    socket.connectToServer()
  })
  await page.fill('#new', 'A thread on a bad line')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  await expect.poll(() => sockets.length).toBe(1)
  await sockets[0]?.close()
  await addComment(new URL(page.url()).pathname.slice('/p/'.length), 'Said while nobody listened')
  await page.locator('article.reply', { hasText: 'Said while nobody listened' }).waitFor()
  // The page reads what is new before it connects again, so the comment may be there first.
  await expect.poll(() => sockets.length).toBe(2)
  expect(errors).toEqual([])
  await context.close()
})

test('H16: comments made between page load and socket appear as soon as the socket opens', async () => {
  const { context, page, errors } = await open()
  let isHeld = true
  let release = () => {}
  await page.routeWebSocket(/\/live\/posts\//, async (socket) => {
    if (isHeld) await new Promise<void>((resolve) => (release = resolve))
    socket.connectToServer()
  })
  await page.fill('#new', 'A thread on a slow line')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  await addComment(
    new URL(page.url()).pathname.slice('/p/'.length),
    'Said before the socket was there',
  )
  // Longer than the live object repeats events, so the database is read.
  await new Promise((resolve) => setTimeout(resolve, 9_000))
  expect(await page.locator('article.reply').count()).toBe(0)
  isHeld = false
  release()
  await page.locator('article.reply', { hasText: 'Said before the socket was there' }).waitFor()
  expect(errors).toEqual([])
  await context.close()
})

test('L34: a run that starts while the page is open gets a stop button', async () => {
  const { context, page, errors } = await open()
  const id = 'a-running-activation'
  const agent = { id: 'g', name: 'scout' }
  const sockets: WebSocketRoute[] = []
  await page.routeWebSocket(/\/live\/posts\//, (socket) => void sockets.push(socket))
  await page.routeWebSocket(/\/live\/activations\//, () => {})
  await page.fill('#new', 'A thread with work in it')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  await expect.poll(() => sockets.length).toBe(1)
  await page.route(/\/p\//, async (route) => {
    const real = await (await route.fetch()).text()
    const form = `<form class="stop" method="post" action="/x"><button>Stop scout</button></form>`
    const block = `<div class="live" data-activation="${id}">${form}</div>`
    const body = real.replace('<div id="working">', `<div id="working">${block}`)
    await route.fulfill({ body, contentType: 'text/html' })
  })
  const hello = { type: 'hello', comments: 0, working: [{ activation_id: id, agent, since: 1 }] }
  sockets[0]?.send(JSON.stringify(hello))
  await page.locator('#working button', { hasText: 'Stop scout' }).waitFor()
  expect(await page.locator('#working [data-activation]').count()).toBe(1)
  await expect.poll(() => page.textContent('#working .do')).toBe('scout is working on an answer')
  const done = { type: 'working', activation_id: id, agent, doing: null, since: 1 }
  sockets[0]?.send(JSON.stringify(done))
  await expect.poll(() => page.locator('#working [data-activation]').count()).toBe(0)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  expect(errors).toEqual([])
  await context.close()
})

test('keys: c writes, ? helps, @ completes a name, and a draft survives a reload', async () => {
  const { context, page, errors } = await open()
  await page.keyboard.press('?')
  expect(await page.textContent('dialog[open]')).toContain('next, previous')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
  await page.keyboard.press('c')
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('content')
  await page.fill('#content', '')
  await page.locator('#content').pressSequentially('hello @sc')
  await page.locator('.menu [aria-selected=true]', { hasText: '@scout' }).waitFor()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.inputValue('#content')).toBe('hello @scout ')
  await page.reload()
  await expect.poll(() => page.inputValue('#content')).toBe('hello @scout ')
  await page.keyboard.press('Escape')
  await page.locator('body').click({ position: { x: 2, y: 300 } })
  await page.keyboard.press('j')
  await expect.poll(() => page.locator('.at-key').count()).toBe(1)
  await page.keyboard.press('/')
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('q')
  expect(errors).toEqual([])
  await context.close()
})

test('a pasted text that is too long stays whole, says so, and is not sent', async () => {
  const { context, page, errors } = await open()
  const pasted = 'word '.repeat(12_000)
  await page.fill('#new', 'A long one')
  await page.fill('#content', pasted)
  const note = page.locator('#content ~ p[role=alert]')
  await expect.poll(() => note.textContent()).toBe('60,000 of 40,000 characters: shorten the text')
  await page.click('form:has(#content) button.go')
  expect(await page.inputValue('#content')).toBe(pasted)
  expect(new URL(page.url()).pathname).toBe('/')
  await page.fill('#content', 'Short now.')
  await expect.poll(() => page.locator('#content ~ p.meta').textContent()).toBe('')
  await page.click('form:has(#content) button.go')
  await page.waitForURL(/\/p\//)
  await page.goto(hub.url)
  await expect
    .poll(() => page.inputValue('#content'), { message: 'what was taken is no draft' })
    .toBe('')
  expect(errors).toEqual([])
  await context.close()
})

test('a text that is sent without a connection is there again', async () => {
  const { context, page } = await open()
  await page.fill('#new', 'From a train')
  await page.fill('#content', 'In a tunnel.')
  await context.setOffline(true)
  const failed = page.waitForEvent('requestfailed', (request) => request.method() === 'POST')
  await Promise.all([failed, page.click('form:has(#content) button.go')])
  // The browser's own page about it is on its way, and would end a navigation that begins before it is there.
  await expect.poll(() => page.url()).toMatch(/^chrome-error:/)
  await context.setOffline(false)
  await page.goto(hub.url)
  await expect.poll(() => page.inputValue('#content')).toBe('In a tunnel.')
  await expect.poll(() => page.inputValue('#new')).toBe('From a train')
  await page.click('form:has(#content) button.go')
  await page.waitForURL(/\/p\//)
  await page.goto(hub.url)
  await expect.poll(() => page.inputValue('#content')).toBe('')
  await context.close()
})

test('an answer that arrives hides the line that says how to get one', async () => {
  const { context, page } = await open()
  await page.fill('#new', 'Pears')
  await page.click('form:has(#content) button.go')
  await page.waitForURL(/\/p\//)
  const hint = page.getByText('to get an answer here')
  await hint.waitFor()
  await addComment(new URL(page.url()).pathname.slice('/p/'.length), '@scout pears?')
  await page.locator('article.reply[data-author=scout]').first().waitFor()
  await expect.poll(() => hint.count()).toBe(0)
  await context.close()
})

test('an open feed says how many posts are new, and shows them when asked', async () => {
  const { context } = await open()
  const { page, errors } = await openPage(context)
  // The listener stands before the page has a connection: a first frame that was missed never comes again.
  const hello = new Promise((resolve) => {
    page.once('websocket', (socket) => socket.once('framereceived', resolve))
  })
  await page.goto(hub.url)
  await hello
  const write = (title: string) => callApi(hub, 'POST', '/posts', { community: 'general', title })
  const link = page.locator('[data-feed] a')
  await write('Fresh pears')
  await expect.poll(() => link.textContent()).toBe('1 new post')
  await write('Fresh figs')
  await expect.poll(() => link.textContent()).toBe('2 new posts')
  await expect.poll(() => page.locator('#announce').textContent()).toBe('2 new posts')
  await link.click()
  await page.locator('article, li', { hasText: 'Fresh figs' }).first().waitFor()
  await expect.poll(() => link.isVisible()).toBe(false)
  expect(errors).toEqual([])
  await context.close()
})

test('a form that is there again after Back makes nothing twice; what was edited is new', async () => {
  const { context, page, errors } = await open()
  const post = async () => {
    await page.click('main form.say button.go')
    await page.waitForURL(/\/p\//)
    return page.url()
  }
  await page.fill('#content', 'Nobody needs two posts of this.')
  const first = await post()
  await page.goBack()
  await expect.poll(() => page.inputValue('#content')).toContain('Nobody needs two')
  expect(await post()).toBe(first)
  await page.goBack()
  await page.fill('#content', 'Somebody needs another one.')
  expect(await post()).not.toBe(first)
  expect(errors).toEqual([])
  await context.close()
})

test('what arrives in the inbox appears in the header and the title of an open page', async () => {
  const { context, page, errors } = await open()
  await page.goto(`${hub.url}/docs`)
  const count = page.locator('[data-unread]')
  const before = Number(await count.textContent())
  const { account } = await callApi<{ account: { api_key: string } }>(hub, 'POST', '/accounts', {
    name: 'greta',
    kind: 'human',
  })
  const response = await fetch(`${hub.url}/api/v1/posts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ community: 'general', content: '@admin the heron is back.' }),
  })
  expect(response.status).toBe(201)
  // somebody comes back to the page
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await expect.poll(async () => Number(await count.textContent())).toBe(before + 1)
  await expect.poll(() => count.isVisible()).toBe(true)
  await expect.poll(() => page.title()).toMatch(new RegExp(`^\\(${before + 1}\\) `))
  expect(errors).toEqual([])
  await context.close()
})

test('a thread that is open takes its items off the count in header and title, also those that arrive while it is open', async () => {
  const { context, page, errors } = await open()
  // Without the regular look at the inbox.
  await page.addInitScript('globalThis.setInterval = () => 0')
  const { account } = await callApi<{ account: { api_key: string } }>(hub, 'POST', '/accounts', {
    name: 'hilda',
    kind: 'human',
  })
  const say = async (path: string, body: object) => {
    const response = await fetch(`${hub.url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(201)
    return (await response.json()) as { post: { id: string } }
  }
  const readCount = async () =>
    (await callApi<{ unread_count: number }>(hub, 'GET', '/inbox/count')).unread_count
  const before = await readCount()
  const { post } = await say('/posts', {
    community: 'general',
    content: '@admin the stork is here.',
  })
  expect(await readCount()).toBe(before + 1)
  await page.goto(`${hub.url}/p/${post.id}`)
  const count = page.locator('[data-unread]')
  const shows = async (unread: number) => {
    await expect.poll(async () => Number(await count.textContent())).toBe(unread)
    const title = new RegExp(unread === 0 ? '^[^(]' : `^\\(${unread}\\) `)
    await expect.poll(() => page.title()).toMatch(title)
  }
  await shows(before)
  await say(`/posts/${post.id}/comments`, { content: '@admin and its mate.' })
  await page.locator('article.reply', { hasText: 'and its mate' }).waitFor()
  await expect.poll(readCount).toBe(before)
  // What another page shows is right, too, when somebody comes back to it.
  await say('/posts', { community: 'general', content: '@admin a third one.' })
  await say(`/posts/${post.id}/comments`, { content: 'No mention.' })
  await shows(before + 1)
  expect(errors).toEqual([])
  await context.close()
})

test('no scripts: all actions work, and the thread asks to reload', async () => {
  const { context, page } = await open({ javaScriptEnabled: false })
  await page.fill('#new', 'Written without scripts')
  await page.fill('#content', '@scout what is in the almanac?')
  await page.click('main form.say button.go')
  await page.waitForURL(/\/p\//)
  await expect
    .poll(
      async () => {
        await page.reload()
        return page.locator('article.reply[data-author=scout]').count()
      },
      { interval: 500 },
    )
    .toBe(1)
  await page.fill('#reply', 'Thank you')
  await page.click('form:has(#reply) button[type=submit]')
  await page.waitForURL(/#c-/)
  expect(await page.textContent('.tree')).toContain('Thank you')
  await page.goto(`${hub.url}/search?q=almanac`)
  expect(await page.locator('.hits li').count()).toBeGreaterThan(0)
  await context.close()
})

test('T11 H16: a removal, a restoration and a lock appear in an open thread, and no event has words of the text', async () => {
  const { context, page, errors } = await open()
  const frames: string[] = []
  page.on('websocket', (socket) =>
    socket.on('framereceived', (frame) => frames.push(`${frame.payload}`)),
  )
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  const post = (path: string, body: object) => callApi<any>(hub, 'POST', path, body)
  const reason = 'Too rude.'
  const { post: thread } = await post('/posts', { community: 'general', title: 'Plums' })
  const insult = await post(`/posts/${thread.id}/comments`, { content: 'A foul insult' })
  const { id } = insult.comment
  await post(`/posts/${thread.id}/comments`, { content: 'A calm reply', parent_id: id })
  await page.goto(`${hub.url}/p/${thread.id}`)
  await expect.poll(() => frames.some((frame) => frame.includes('hello'))).toBe(true)
  await page.evaluate(() => {
    document.body.dataset.notReloaded = 'yes'
  })
  const entry = page.locator(`[id="c-${id}"]`)
  // the preview of the typed text must not come after the post is removed
  const preview = page.waitForResponse((each) => /Still/.test(each.request().postData() ?? ''))
  await page.fill('#reply', 'Still typing')
  await preview
  await post(`/comments/${id}/remove`, { reason })
  await expect.poll(() => entry.textContent()).toContain('Removed by a moderator: Too rude.')
  expect(await entry.locator('article.reply').textContent()).toContain('A calm reply')
  expect(await page.inputValue('#reply')).toBe('Still typing')
  await expect.poll(() => page.textContent('#announce')).toBe('The thread has changed')
  await post(`/comments/${id}/restore`, { reason })
  await expect.poll(() => entry.locator('> .prose').count()).toBe(1)
  expect(await entry.locator('> .prose').textContent()).toContain('A foul insult')

  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await post(`/posts/${thread.id}/lock`, { reason })
  await expect.poll(() => page.textContent('#end')).toContain('This thread is locked')
  await expect.poll(() => page.locator('a[href*=reply_to]').count()).toBe(0)
  await post(`/posts/${thread.id}/remove`, { reason })
  await expect.poll(() => page.textContent('#post h1')).toContain('Removed post')
  expect(await page.evaluate(() => document.body.dataset.notReloaded)).toBe('yes')
  expect(frames.join('\n')).not.toMatch(/insult|rude|calm/)
  expect(errors).toEqual([])
  await context.close()
})

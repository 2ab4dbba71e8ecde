import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { type Row, readCell, readName, type Sent, type Table } from '../hub/access/cells'
import { createWorld, type World } from '../hub/access/create-world'
import { pageTable } from '../hub/access/page-table'
import type { Column } from '../hub/access/requesters'
import { installFakeIssuer } from '../support/fake-issuer'

installFakeIssuer()

/** Pages whose answer shows a secret once, so that a second answer can only say so. */
const secretRoutes = [
  '/admin/people/invitations',
  '/runners/keys',
  '/settings/keys',
  '/settings/sessions/link',
  '/settings/webhooks',
  '/m/:name/settings/webhooks',
  '/settings/triggers',
  '/settings/triggers/:id/secret',
  '/m/:name/settings/triggers',
]

/** Forms that create something each time they are sent, and so carry a key. */
const creating = [
  '/settings/notifications/mail',
  ...secretRoutes,
  '/a/:name/activate',
  '/a/:name/edit',
  '/a/:name/schedules',
  '/a/:name/sets',
  '/activations/:id/open',
  '/activations/:id/try',
  '/admin/mail/test',
  '/admin/people/:name/ban',
  '/agents/new',
  '/approvals/:id/rule',
  '/budgets/new',
  '/communities-new',
  '/dm',
  '/dm/:id',
  '/models/key',
  '/models/test',
  '/moderation/mine',
  '/moderation/notice',
  '/p/:id/comments',
  '/p/:id/report',
  '/posts-new',
]

/** Forms that set, end or show something, or create what has a name: sent twice they write nothing twice. */
const setting = [
  '/a/:name/delete',
  '/a/:name/follow',
  '/a/:name/knows',
  '/a/:name/knows/:session',
  '/a/:name/pause',
  '/a/:name/private',
  '/a/:name/resume',
  '/a/:name/role',
  '/a/:name/versions',
  '/activations/:id/case',
  '/activations/:id/feedback',
  '/activations/:id/stop',
  '/admin/limits',
  '/admin/people/:name/bans/:id/lift',
  '/admin/people/:name/delete',
  '/admin/people/:name/disable',
  '/admin/people/:name/enable',
  '/admin/people/:name/end-sessions',
  '/admin/people/:name/identities/:id/revoke',
  '/admin/people/:name/keys/:id/revoke',
  '/admin/people/:name/moderator',
  '/admin/people/:name/passkeys/:id/revoke',
  '/admin/people/:name/rename',
  '/admin/people/invitations/:id/withdraw',
  '/approvals',
  '/approvals/:id',
  '/budgets/:id',
  '/budgets/:id/delete',
  '/claim/:token',
  '/connect/:service',
  '/credentials',
  '/credentials/delete',
  '/credentials/rotate',
  '/credentials/services',
  '/credentials/services/delete',
  '/dm/:id/approve',
  '/dm/:id/block',
  '/dm/:id/reject',
  '/dm/:id/unblock',
  '/inbox/read',
  '/join/:token',
  '/login',
  '/login/github',
  '/login/mail',
  '/login/oidc',
  '/login/passkey',
  '/logout',
  '/m/:name/members',
  '/m/:name/members/remove',
  '/m/:name/settings',
  '/m/:name/subscribe',
  '/mail/confirm',
  '/mail/unsubscribe',
  '/models',
  '/models/delete',
  '/models/list',
  '/models/local',
  '/models/price',
  '/models/price/reset',
  '/moderation/appeals/:id',
  '/moderation/bans/:id',
  '/moderation/log/:name/lift/:id',
  '/p/:id/delete',
  '/p/:id/edit',
  '/p/:id/following',
  '/p/:id/lifted-limits',
  '/p/:id/moderate',
  '/p/:id/vote',
  '/policy/:name',
  '/runners/drain',
  '/runners/keys/revoke',
  '/runners/remove',
  '/cases/:id/delete',
  '/runs/sets',
  '/runs/views',
  '/runs/views/delete',
  '/scheduler/pause',
  '/scheduler/resume',
  '/sets/:id/cases/:case',
  '/sets/:id/delete',
  '/sets/:id/import',
  '/sets/:id/rename',
  '/settings/feed-token',
  '/settings/feed-token/delete',
  '/settings/keys/delete',
  '/settings/notifications',
  '/settings/notifications/devices',
  '/settings/notifications/devices/remove',
  '/settings/notifications/mail/delete',
  '/settings/profile',
  '/settings/triggers/:id/delete',
  '/settings/sessions/end',
  '/settings/sessions/end-others',
  '/settings/sign-in/github',
  '/settings/sign-in/oidc',
  '/settings/sign-in/passkeys',
  '/settings/sign-in/remove',
  '/settings/theme',
  '/settings/webhooks/:id',
  '/settings/webhooks/:id/delete',
  '/standing-rules/:id/revoke',
  '/tools/remote',
  '/tools/remote/instructions',
  '/tools/remote/refresh',
  '/tools/remote/remove',
  '/tools/remote/tools',
  '/replays/:id/cancel',
  '/trials/:id/cancel',
  '/trials/:id/compare',
]

let world: World
beforeAll(async () => {
  world = await createWorld()
})

const isOfModules = (path: string) =>
  /^\/(credentials|models|tools\/remote|connect|settings\/connections)\b/.test(path)

async function send(column: Column, row: Pick<Row, 'owner'>, method: string, sent: Sent) {
  const headers = await world.requesters.toBrowserHeaders(column, row.owner ?? 'olga')
  const path = sent.path ?? ''
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const request = new Request(`http://hub.test${path}`, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...sent.headers, ...(method === 'POST' && type) },
    ...(method === 'POST' && {
      body: new URLSearchParams((sent.body ?? {}) as Record<string, string>).toString(),
    }),
  })
  const response = await (isOfModules(path)
    ? world.fetchModule(request, true)
    : world.fetchHub(request, true))
  response.webSocket?.accept()
  response.webSocket?.close()
  return response
}

interface FoundForm {
  action: string
  keys: string[]
}

/** Returns the forms of a page that are sent with POST, to a path if given, as a browser parses them. */
async function findForms(response: Response, to?: string): Promise<FoundForm[]> {
  const forms: FoundForm[] = []
  let isOpen = false
  const rewriter = new HTMLRewriter()
    .on('form', {
      element(form) {
        isOpen = form.getAttribute('method') === 'post'
        if (isOpen) forms.push({ action: form.getAttribute('action') ?? '', keys: [] })
      },
    })
    .on('form input[name="idempotency_key"]', {
      element(input) {
        if (isOpen) forms.at(-1)?.keys.push(input.getAttribute('value') ?? '')
      },
    })
  await rewriter.transform(response).text()
  return forms.filter(({ action }) => to === undefined || action === to)
}

/** Returns the route that a form goes to. */
function findRoute(action: string): string {
  const { pathname } = new URL(action, 'http://hub.test')
  const routes = world.listRoutes().filter(({ method }) => method === 'POST')
  const isOf = ({ path }: { path: string }) =>
    new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(pathname)
  const [exact] = routes.filter(({ path }) => path === pathname)
  return (exact ?? routes.find(isOf))?.path ?? `no route for ${action}`
}

/** Pages with forms that the table's requests do not show. */
async function listMorePages(): Promise<{ column: Column; path: string }[]> {
  await world.newRemoval()
  const provider = (await pageTable['POST /models']?.send?.(world, 'admin')) ?? {}
  await send('admin', {}, 'POST', provider)
  return [
    { column: 'admin', path: '/a/scout' },
    { column: 'admin', path: `/activations/${await world.newPrivateRun()}` },
    { column: 'admin', path: '/models' },
    { column: 'admin', path: '/agents/new?template=triage' },
    { column: 'owner', path: `/p/${world.othersPostId}` },
    { column: 'owner', path: `/p/${world.postId}?reply_to=${world.othersCommentId}` },
    { column: 'owner', path: '/moderation/mine' },
    { column: 'banned', path: '/moderation/notice' },
    { column: 'admin', path: `/approvals/${encodeURIComponent(await world.newApproval())}/rule` },
    { column: 'admin', path: `/a/${world.tit.name}/schedules` },
    { column: 'admin', path: `/activations/${await createRecordedRun()}/try` },
  ]
}

/** Returns a run whose record is stored, so that it can be replayed. */
async function createRecordedRun(): Promise<string> {
  const id = await world.newPublicRun()
  await env.DB.prepare("INSERT INTO activation_traces (activation_id, trace) VALUES (?, '{}')")
    .bind(id)
    .run()
  return id
}

/** Files, streams and addresses for programs: no pages. */
const notPages = /\.(csv|json|md|js|svg|ico|webmanifest)$|^\/(live|assets|runners\/socket)\b/

/** Returns the pages that a person and an admin can open. */
async function listPages(): Promise<{ column: Column; path: string }[]> {
  const pages = await listMorePages()
  for (const [name, row] of Object.entries(pageTable)) {
    const { method, path } = readName(name)
    if (method !== 'GET' || notPages.test(path)) continue
    for (const column of ['owner', 'admin'] as const) {
      if (readCell(row, column) !== '+') continue
      pages.push({ column, path: (await row.send?.(world, column))?.path ?? path })
    }
  }
  return pages
}

test('forms: every form on every page that creates something carries a key from its first rendering', async () => {
  const seen = new Set<string>()
  const without = new Set<string>()
  for (const { column, path } of await listPages()) {
    const response = await send(column, {}, 'GET', { path })
    for (const { action, keys } of await findForms(response)) {
      const route = findRoute(action)
      seen.add(route)
      const hasKey = keys.length === 1 && /^[\w-]{8,64}$/.test(keys[0] ?? '')
      if (!hasKey && !setting.includes(route)) without.add(`${route} on ${path}`)
    }
  }
  expect([...without]).toEqual([])
  expect(creating.filter((route) => !seen.has(route))).toEqual([])
})

/** Logs, visits to other services and the index of search, to which a second sending adds rows. */
const logs = /^(admin_log|sign_in_attempts)$|search_index|_fts|^sqlite|^_/

/** Returns the number of rows of each table. */
async function countRows(): Promise<Record<string, number>> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table'",
  ).all<{ name: string }>()
  const names = results.map(({ name }) => name).filter((name) => !logs.test(name))
  const counts = await env.DB.batch<{ count: number }>(
    names.map((name) => env.DB.prepare(`SELECT count(*) AS count FROM "${name}"`)),
  )
  return Object.fromEntries(
    names.map((name, index) => [name, counts[index]?.results[0]?.count ?? 0]),
  )
}

const formatPlace = ({ status, headers }: Response): string =>
  `${status} ${headers.get('location') ?? ''}`

const ownBan: Table = {
  'POST /moderation/notice (own ban)': {
    expect: 'secretWrite',
    except: { banned: '+', owner: 404 },
    send: async () => {
      const ban = await env.DB.prepare('SELECT min(id) AS id FROM bans').first<{ id: string }>()
      return { body: { ban_id: ban?.id ?? '', text: 'It is not true.' } }
    },
  },
}

/** Rows of tables that send a form successfully, with who sends it. */
const sentForms = Object.entries({ ...pageTable, ...ownBan }).flatMap(([name, row]) => {
  const { method, path: route } = readName(name)
  const column = (['owner', 'admin', 'banned'] as const).find((each) => readCell(row, each) === '+')
  // Each signing in opens a session, and what is shown only to its browser is not created.
  const isSession = route === '/login' || row.endsSession === true
  return method !== 'POST' || !column || isSession ? [] : [{ name, row, route, column }]
})

test('forms: one that is sent twice creates nothing twice, and is answered with the same place', async () => {
  const differing: unknown[] = []
  for (const { name, row, route, column } of sentForms) {
    const given = (await row.send?.(world, column)) ?? {}
    const isCreating = creating.includes(route)
    const key = isCreating ? { idempotency_key: crypto.randomUUID() } : {}
    const sent = { path: route, ...given, body: { ...given.body, ...key } }
    const first = await send(column, row, 'POST', sent)
    const before = await countRows()
    const second = await send(column, row, 'POST', sent)
    const after = await countRows()
    const grown = Object.keys(after).filter((table) => (after[table] ?? 0) > (before[table] ?? 0))
    const expected = secretRoutes.includes(route) ? '409 ' : formatPlace(first)
    const isSame = !isCreating || formatPlace(second) === expected
    if (grown.length > 0 || !isSame) {
      differing.push([name, grown, formatPlace(first), formatPlace(second)])
    }
  }
  expect(differing).toEqual([])
  const unsent = creating.filter((route) => !sentForms.some((form) => form.route === route))
  expect(unsent).toEqual([])
})

const mentioning = { community: 'general', title: 'Asked once', content: '@scout why?' }
const edits: [what: string, change: Record<string, string>][] = [
  ['another text', { content: '@scout why not?' }],
  ['another title', { title: 'Asked twice' }],
  ['a space more', { content: '@scout why? ' }],
  ['another community', { community: 'orchard' }],
]

const countRuns = async () =>
  (await env.DB.prepare('SELECT count(*) AS n FROM inbox_items').first<{ n: number }>())?.n ?? 0

test.each(edits)(
  'forms: one that was edited after Back, to %s, is sent as new',
  async (_what, change) => {
    const idempotency_key = crypto.randomUUID()
    const post = (fields: Record<string, string>) =>
      send('owner', {}, 'POST', { path: '/posts-new', body: { ...fields, idempotency_key } })
    const place = async (fields: Record<string, string>) =>
      (await post(fields)).headers.get('location')
    const before = await countRuns()
    const first = await place(mentioning)
    expect(first).toMatch(/^\/p\//)
    const edited = await place({ ...mentioning, ...change })
    expect(edited).toMatch(/^\/p\//)
    expect(edited).not.toBe(first)
    expect([await place(mentioning), await place({ ...mentioning, ...change })]).toEqual([
      first,
      edited,
    ])
    expect(await countRuns()).toBe(before + 2)
  },
)

test('forms: two clicks at the same moment make one post and one run', async () => {
  const body = { ...mentioning, idempotency_key: crypto.randomUUID() }
  const before = await countRuns()
  const places = await Promise.all(
    [1, 2, 3].map(async () => {
      const response = await send('owner', {}, 'POST', { path: '/posts-new', body })
      return response.headers.get('location')
    }),
  )
  expect(new Set(places).size).toBe(1)
  expect(places[0]).toMatch(/^\/p\//)
  expect(await countRuns()).toBe(before + 1)
})

test('forms: the key is of the account that sends it, and of where it is sent', async () => {
  const idempotency_key = crypto.randomUUID()
  const reply = { body: { content: 'Agreed.', idempotency_key } }
  const places = new Set<string | null>()
  for (const postId of [world.postId, world.othersPostId]) {
    for (const column of ['owner', 'member'] as const) {
      const response = await send(column, {}, 'POST', { path: `/p/${postId}/comments`, ...reply })
      places.add(response.headers.get('location'))
    }
  }
  expect(places.size).toBe(4)
})

test('forms: after an error the form keeps its texts, has a key again and works', async () => {
  const [first] = await findForms(
    await send('owner', {}, 'GET', { path: '/communities-new' }),
    '/communities-new',
  )
  const fields = { name: 'general', description: 'Kept as typed', visibility: 'public' }
  const sendAs = (name: string, idempotency_key = '') =>
    send('owner', {}, 'POST', {
      path: '/communities-new',
      body: { ...fields, name, idempotency_key },
    })
  const refused = await sendAs('general', first?.keys[0])
  expect(refused.status).toBe(409)
  const html = await refused.text()
  expect(html).toContain('Kept as typed')
  const [again] = await findForms(new Response(html), '/communities-new')
  expect(again?.keys[0]).toMatch(/^[\w-]{8,64}$/)
  const created = await sendAs('hedge', again?.keys[0])
  expect(formatPlace(created)).toBe('303 /m/hedge')
  expect(formatPlace(await sendAs('hedge', again?.keys[0]))).toBe('303 /m/hedge')
})

test('forms: a secret is shown once; the second answer says what to do, and its form creates another', async () => {
  const path = '/settings/keys'
  const sendLabel = (idempotency_key: string) =>
    send('owner', {}, 'POST', { path, body: { label: 'Twice', scopes: 'read', idempotency_key } })
  const key = crypto.randomUUID()
  expect((await sendLabel(key)).status).toBe(200)
  const second = await sendLabel(key)
  const html = await second.text()
  expect(second.status).toBe(409)
  expect(html).toContain('This form was already sent')
  const [form] = await findForms(new Response(html), path)
  expect((await sendLabel(form?.keys[0] ?? '')).status).toBe(200)
})

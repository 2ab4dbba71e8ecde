// Writes the demo's month: people ask through the API, agents answer in their own loop, and each day is then moved
// to its place in the past.
import { HubClient } from '../../client/index.ts'
import { demand } from '../hub-client.mjs'
import { PlainError } from '../local-state.mjs'
import { startModel } from './model.mjs'
import { moveBack, withoutGuards } from './move-back.mjs'
import { listScripts, tellMonth } from './story.mjs'
import { agents, communities, people } from './team.mjs'

export { prices } from './team.mjs'

const waitMs = 60_000

/**
 * @typedef {import('./move-back.mjs').Database} Database
 * @typedef {Record<string, HubClient>} Members
 */

/**
 * @param {(settings: Record<string, string>) => Promise<import('../hub-runtime.mjs').Hub>} start
 * @param {(text: string) => void} report
 * @param {import('./threads.mjs').Day[]} month
 */
export async function writeMonth(start, report, month = tellMonth()) {
  const model = await startModel(listScripts(month))
  const hub = await start({ OPENAI_COMPATIBLE_BASE_URL: model.url, ROOKERY_LOG_LEVEL: 'error' })
  try {
    const db = await hub.openDatabase()
    const admin = new HubClient({ url: hub.url, key: hub.adminKey })
    await withoutGuards(db, async () => {
      let since = 0
      const members = await gather(admin, hub.url)
      for (const [index, { ago, posts }] of month.entries()) {
        report(`Writing the month of Harbour Lane: day ${index + 1} of ${month.length}`)
        for (const post of posts) await writePost(db, admin, members, post)
        await moveBack(db, since, ago)
        since = Date.now()
      }
    })
    await demand(admin.call('POST /budgets/audit/repair', {}))
  } finally {
    await hub.stop()
    model.stop()
  }
}

/**
 * Creates people, communities, agents and budgets.
 * @param {HubClient} admin
 * @param {string} url
 */
async function gather(admin, url) {
  /** @type {Members} */
  const members = {}
  for (const person of people) {
    const body = { ...person, kind: /** @type {const} */ ('human') }
    const { account } = await demand(admin.call('POST /accounts', { body }))
    members[person.name] = new HubClient({ url, key: account.api_key })
  }
  for (const { by, ...body } of communities) {
    await demand(findMember(members, by).call('POST /communities', { body }))
  }
  for (const { name, files } of agents) {
    await demand(admin.call('PUT /agents/:name/definition', { params: { name }, body: { files } }))
  }
  for (const { name } of agents) {
    const body = {
      ...{ scope: /** @type {const} */ ('agent'), name },
      ...{ period: /** @type {const} */ ('month'), limit_microusd: 4_000_000 },
    }
    await demand(admin.call('POST /budgets', { body }))
  }
  return members
}

/**
 * @param {Members} members
 * @param {string} name
 */
function findMember(members, name) {
  const found = members[name]
  if (!found) throw new Error(`The story has no person named ${name}.`)
  return found
}

/**
 * Writes a post and its comments; each agent answers before the next person writes.
 * @param {Database} db
 * @param {HubClient} admin
 * @param {Members} members
 * @param {import('./threads.mjs').Post} post
 */
async function writePost(db, admin, members, post) {
  const { in: community, by, title, text, votes = [], comments = [] } = post
  const body = { title, content: text, community }
  const written = await demand(findMember(members, by).call('POST /posts', { body }))
  const { id } = written.post
  await settle(db, admin, post)
  for (const name of votes) {
    await demand(
      findMember(members, name).call('PUT /posts/:id/vote', { params: { id }, body: { value: 1 } }),
    )
  }
  for (const comment of comments) {
    const author = findMember(members, comment.by)
    const content = comment.text
    await demand(author.call('POST /posts/:id/comments', { params: { id }, body: { content } }))
    await settle(db, admin, comment)
  }
}

/**
 * Waits until no agent works, and decides what one asks for.
 * @param {Database} db
 * @param {HubClient} admin
 * @param {import('./threads.mjs').Comment} item
 */
async function settle(db, admin, { decide }) {
  await waitUntilQuiet(db)
  if (!decide) return
  const { approvals } = await demand(admin.call('GET /approvals', { query: { status: 'pending' } }))
  for (const { id } of approvals) {
    await demand(
      admin.call('POST /approvals/:id/decide', { params: { id }, body: { decision: decide } }),
    )
  }
  await waitUntilQuiet(db)
}

/** @param {Database} db */
async function waitUntilQuiet(db) {
  const until = Date.now() + waitMs
  const count = db.prepare(
    `SELECT (SELECT count(*) FROM activations WHERE state = 'running')
          + (SELECT count(*) FROM inbox_items WHERE is_task = 1 AND read_at IS NULL AND claimed_by IS NULL) AS busy`,
  )
  while (Date.now() < until) {
    const row = await count.first()
    if (row?.busy === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new PlainError('An agent of the demo does not finish. Start it again.')
}

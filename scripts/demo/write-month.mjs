// Writes the demo's month: people ask through the API, agents answer in their own loop, and each day is then moved
// to its place in the past.
import { HubClient } from '../../client/index.ts'
import { demand } from '../hub-client.mjs'
import { PlainError } from '../local-state.mjs'
import { tryCheaper } from './counter.mjs'
import { startModel } from './model.mjs'
import { moveBack, withoutGuards } from './move-back.mjs'
import { listScripts, tellMonth } from './story.mjs'
import {
  agentBudgets,
  agents,
  communities,
  mailbox,
  morningMs,
  morningTask,
  people,
  personBudgets,
} from './team.mjs'

export { prices } from './team.mjs'

const waitMs = 60_000
const dayMs = 86_400_000

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
  const scripts = listScripts(month)
  const model = await startModel(scripts)
  const hub = await start({ OPENAI_COMPATIBLE_BASE_URL: model.url, ROOKERY_LOG_LEVEL: 'error' })
  try {
    const db = await hub.openDatabase()
    const admin = new HubClient({ url: hub.url, key: hub.adminKey })
    await withoutGuards(db, async () => {
      let since = 0
      const members = await gather(admin, hub.url)
      for (const [index, { ago, morning, posts }] of month.entries()) {
        report(`Writing the month of Harbour Lane: day ${index + 1} of ${month.length}`)
        if (ago === 0) await limitSpending(admin, 'requester', personBudgets)
        // to the hour of the schedule, unless that is still to come today
        const earlierMs = morning ? Math.max(0, (Date.now() % dayMs) - morningMs) : 0
        if (morning) {
          scripts.unshift({ ...morning.answer, question: morningTask })
          await writeMorning(db, admin, members, morning)
          await moveBack(db, since, 0, earlierMs)
        }
        for (const post of posts) await writePost(db, admin, members, post)
        await moveBack(db, since - earlierMs, ago)
        since = Date.now()
      }
    })
    report('Trying a cheaper model on the answers of Tide')
    await tryCheaper(db, admin, waitUntil)
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
  for (const { by, members: listed = [], ...body } of communities) {
    const owner = findMember(members, by)
    await demand(owner.call('POST /communities', { body }))
    for (const account of listed) {
      const params = { name: body.name, account }
      await demand(owner.call('PUT /communities/:name/members/:account', { params, body: {} }))
    }
  }
  for (const { name, files, by } of agents) {
    const author = by === undefined ? admin : findMember(members, by)
    await demand(author.call('PUT /agents/:name/definition', { params: { name }, body: { files } }))
  }
  await moveHubBudget(admin)
  await limitSpending(admin, 'agent', agentBudgets)
  return members
}

/**
 * Lets the month of the hub's budget begin with the story. The hub never is without a budget, so one of a week stands
 * in while the other is replaced.
 * @param {HubClient} admin
 */
async function moveHubBudget(admin) {
  const { budgets } = await demand(admin.call('GET /budgets', {}))
  const old = budgets.find(({ scope }) => scope === 'hub')
  if (!old) return
  const create = (/** @type {object} */ body) =>
    demand(admin.call('POST /budgets', { body: { scope: 'hub', period: 'week', ...body } }))
  const drop = (/** @type {string} */ id) =>
    demand(admin.call('DELETE /budgets/:id', { params: { id } }))
  const { budget: standIn } = await create({ limit_microusd: old.limit_microusd })
  await drop(old.id)
  const { limit_microusd } = old
  await create({ period: 'month', reset_day: firstDay, limit_microusd })
  await drop(standIn.id)
}

/**
 * Creates budgets of a month that includes all of the story.
 * @param {HubClient} admin
 * @param {'agent' | 'requester'} scope
 * @param {Record<string, number>} dollars by name
 */
async function limitSpending(admin, scope, dollars) {
  for (const [name, limit] of Object.entries(dollars)) {
    const period = /** @type {const} */ ('month')
    const body = { scope, name, period, reset_day: firstDay, limit_microusd: limit * 1_000_000 }
    await demand(admin.call('POST /budgets', { body }))
  }
}

/** The day of the month on which the story begins; budgets begin on one that every month has. */
const firstDay = Math.min(28, new Date(Date.now() - 27 * dayMs).getUTCDate())

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
  await rate(db, members, id, post)
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
    await rate(db, members, id, comment)
  }
}

/**
 * Writes what Tomas counted, and lets the scheduler find Bell's schedule due.
 * @param {Database} db
 * @param {HubClient} admin
 * @param {Members} members
 * @param {import('./threads.mjs').Morning} morning
 */
async function writeMorning(db, admin, members, { note, votes }) {
  const { by, ...body } = mailbox
  const author = findMember(members, by)
  const selectId = 'SELECT id FROM posts WHERE title = ?'
  const found = await db.prepare(selectId).bind(mailbox.title).first()
  const id = found ? String(found.id) : (await demand(author.call('POST /posts', { body }))).post.id
  await demand(author.call('POST /posts/:id/comments', { params: { id }, body: { content: note } }))
  await startSchedules(db, admin)
  await waitUntilQuiet(db)
  const newest = 'SELECT id FROM posts WHERE title LIKE ? ORDER BY seq DESC LIMIT 1'
  const summary = await db.prepare(newest).bind('Morning summary%').first()
  for (const name of votes) {
    const params = { id: String(summary?.id) }
    await demand(
      findMember(members, name).call('PUT /posts/:id/vote', { params, body: { value: 1 } }),
    )
  }
}

/**
 * Makes the schedules due, and waits until the scheduler has given their tasks to their agents.
 * @param {Database} db
 * @param {HubClient} admin
 */
async function startSchedules(db, admin) {
  const waiting = db.prepare('SELECT count(*) AS count FROM schedules WHERE due_at <= 1')
  const isNoneWaiting = async () => (await waiting.first())?.count === 0
  await waitUntil(isNoneWaiting)
  await db.prepare('UPDATE schedules SET due_at = 1').run()
  // The scheduler looks again when a budget is saved, also an unchanged one.
  const { budgets } = await demand(admin.call('GET /budgets', {}))
  for (const { id, limit_microusd } of budgets.slice(0, 1)) {
    await demand(admin.call('PATCH /budgets/:id', { params: { id }, body: { limit_microusd } }))
  }
  await waitUntil(isNoneWaiting)
}

/**
 * Rates the newest answer of a thread.
 * @param {Database} db
 * @param {Members} members
 * @param {string} postId
 * @param {import('./threads.mjs').Comment} item
 */
async function rate(db, members, postId, { rating }) {
  if (!rating) return
  const { by, value, note } = rating
  const newest = 'SELECT id FROM activations WHERE post_id = ? ORDER BY started_at DESC LIMIT 1'
  const id = String((await db.prepare(newest).bind(postId).first())?.id)
  const request = { params: { id }, body: { value, note } }
  await demand(findMember(members, by).call('PUT /activations/:id/feedback', request))
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
  const count = db.prepare(
    `SELECT (SELECT count(*) FROM activations WHERE state = 'running')
          + (SELECT count(*) FROM inbox_items WHERE is_task = 1 AND read_at IS NULL AND claimed_by IS NULL) AS busy`,
  )
  await waitUntil(async () => (await count.first())?.busy === 0)
}

/** @param {() => Promise<boolean>} isReached */
async function waitUntil(isReached) {
  const until = Date.now() + waitMs
  while (Date.now() < until) {
    if (await isReached()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new PlainError('An agent of the demo does not finish. Start it again.')
}

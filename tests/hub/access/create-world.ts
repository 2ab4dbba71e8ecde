import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import {
  computeDefinitionEtag,
  createDefinitionStore,
} from '../../../src/agents/definitions/definition-store'
import { composeApp } from '../../../src/compose'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { identitySettings } from '../../support/fake-issuer'
import { answered, loaded, requested, returned, toStoredLog, woken } from '../../support/run-log'
import { addressHeader, adminKey, createTestHub, type TestHub } from '../create-test-hub'
import { makeModerator } from '../moderation/make-moderator'
import { usageOf } from '../runs/create-office'
import { canaries, definitionFacts, definitionFiles, snapshot } from './contents'
import { findStylesheet, registerGuest } from './create-guest'
import { createModeration } from './create-moderation'
import { createPeople } from './create-people'
import { createPlaces } from './create-places'
import {
  createCase,
  createOwnAccountRun,
  createPrivateRun,
  createPublicRun,
  createReplay,
  createSet,
  makeRoomForSet,
} from './create-private-run'
import { createRules } from './create-rules'
import { createRunners } from './create-runners'
import { createServices } from './create-services'
import { createOpenTrial, createTrial } from './create-trial'
import { createWaysToSignIn } from './create-ways-to-sign-in'
import { createRequesters, type Member } from './requesters'

/** Each request comes from an address of its own, so that no limit by address is met. */
const settings = {
  ...identitySettings,
  // Nothing listens there.
  ROOKERY_MAIL_URL: 'smtp://127.0.0.1:1',
  ROOKERY_MAIL_FROM: 'Rookery <hub@hub.example>',
  ROOKERY_ORIGIN: 'http://hub.test',
  ROOKERY_CLIENT_ADDRESS_HEADER: addressHeader,
}
/** Time between two requests: slow enough for the limits by key. */
const pauseMs = 250
let addresses = 0

type Fetcher = TestHub['app']

/** Creates the accounts and things that the tables' rows are about. */
export async function createWorld() {
  const hub = createTestHub(settings)
  const privateHub = createTestHub({ ...settings, ROOKERY_PUBLIC: 'false' })
  const claimHub = createTestHub({ ...settings, ROOKERY_REGISTRATION: 'claim' })
  const clock = { start: Date.now() }
  for (const each of [hub, privateHub, claimHub]) {
    each.clock.advance(clock.start - each.clock.now())
    // Scripted activations go on until the end.
    each.seen.cancel = async () => true
    each.seen.watch = async () => new Response('watched')
    each.seen.keepDefinition = createDefinitionStore(env.FILES).save
    each.seen.readDefinition = createDefinitionStore(env.FILES).readFiles
    Object.assign(each.context().live, createLivePublisher(env.LIVE))
    Object.assign(each.seen.sessions, hub.seen.sessions)
    // The lists end at different pages.
    for (const { stored } of [each.seen.knowledge, each.seen.privateMemory]) {
      const at = { createdAt: clock.start, updatedAt: clock.start, sharedAt: null }
      stored.facts = [3, 2, 1].map((id) => ({ id, text: 'Plums', source: '', ...at }))
      stored.files = ['a.md', 'böden.md'].map((path) => ({ path, bytes: 1, ...at }))
    }
    each.seen.check = async (files) => {
      const name = /^name: (\S+)/.exec(files['config.yaml'] ?? '')?.[1] ?? 'scout'
      return { ok: true, facts: definitionFacts(name, await computeDefinitionEtag(files)) }
    }
  }
  // The routes of credentials, services and remote servers: on the whole Worker and the same database.
  const compose = (more: Record<string, string>) =>
    composeApp(Object.assign({ ...env }, settings, more)).app
  const composed = {
    public: compose({ ROOKERY_PUBLIC: 'true' }),
    private: compose({ ROOKERY_PUBLIC: 'false' }),
  }
  const send = async (app: Fetcher, request: Request) => {
    hub.clock.advance(pauseMs)
    privateHub.clock.advance(pauseMs)
    claimHub.clock.advance(pauseMs)
    request.headers.set(addressHeader, `10.255.${++addresses >> 8}.${addresses & 255}`)
    const execution = createExecutionContext()
    const response = await app.fetch(request, env, execution)
    await waitOnExecutionContext(execution)
    return response
  }
  const fetchHub = (request: Request, isPublic: boolean) =>
    send((isPublic ? hub : privateHub).app, request)
  const fetchModule = (request: Request, isPublic: boolean) =>
    send(isPublic ? composed.public : composed.private, request)
  /** Returns the routes of pages and of the API, without the prefixes that middleware is mounted at. */
  const listRoutes = () =>
    [...hub.app.routes, ...composed.public.routes].filter(({ method }) => method !== 'ALL')
  const call = async (path: string, options: Parameters<typeof hub.call>[1] = {}) => {
    hub.clock.advance(pauseMs)
    privateHub.clock.advance(pauseMs)
    const answer = await hub.call(path, options)
    if (answer.status > 299) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const admin = (path: string, body: unknown, method = 'POST') =>
    call(path, { key: adminKey, method, body })
  const callModule = async (method: string, path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const init = { method, headers, body: JSON.stringify(body) }
    const response = await fetchModule(new Request(`http://hub.test/api/v1${path}`, init), true)
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    const answer: any = await response.json()
    if (response.status > 299) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  const join = async (name: string, kind: 'agent' | 'human' = 'human') =>
    (await hub.join(name, kind)) as Member & { id: AccountId }

  const [olga, piet] = [await join('olga'), await join('piet')]
  const [scout, wren] = [await join('scout', 'agent'), await join('wren', 'agent')]
  const others = {
    guest: await registerGuest(call),
    member: await join('mem'),
    external: await join('exte', 'agent'),
    moderator: await join('moda'),
    other: await join('otto'),
    listed: await join('lis'),
  }
  for (const { id, name } of [scout, wren]) {
    await hub.host(id)
    await admin(`/agents/${name}/definition`, { files: definitionFiles(name) }, 'PUT')
  }

  let birds = 0
  /** Takes the agents of earlier rows from their owners: a member can have five. */
  const releaseAgents = () =>
    env.DB.prepare(
      `UPDATE accounts SET owner_id = NULL WHERE name LIKE 'bird-%' OR (name LIKE 'tit-%' AND name <> 'tit-1')`,
    ).run()
  /** An agent of this hub that olga owns. */
  const newOwnedAgent = async () => {
    await releaseAgents()
    const agent = await join(`tit-${++birds}`, 'agent')
    await hub.host(agent.id)
    await env.DB.prepare('UPDATE accounts SET owner_id = ? WHERE id = ?')
      .bind(olga.id, agent.id)
      .run()
    const files = { ...definitionFiles(agent.name), 'system-prompt.md': 'Be kind.' }
    await admin(`/agents/${agent.name}/definition`, { files }, 'PUT')
    await admin(`/agents/${agent.name}/sessions/general_t1`, { messages: [] }, 'PUT')
    return agent
  }
  const tit = await newOwnedAgent()

  const newPost = async (author: Member, content = 'A text', community = 'general') =>
    (await call('/posts', { key: author.key, body: { community, title: 'A title', content } })).post
      .id as string
  const newComment = async (author: Member, postId: string, content = 'A remark') =>
    (await call(`/posts/${postId}/comments`, { key: author.key, body: { content } })).comment
      .id as string
  let people = 0
  const newPerson = () => join(`person${++people}`)
  /** A request as a guest makes it who has become a member since: members need none. */
  const newRequest = async (from: Member, to: Member, message = 'May I?') => {
    const body = { to: to.name, content: message }
    const { conversation } = await call('/conversations', { key: from.key, body })
    await env.DB.prepare(`UPDATE conversations SET status = 'pending' WHERE id = ?`)
      .bind(conversation.id)
      .run()
    return conversation.id as string
  }
  const newConversation = async (from: Member, to: Member, message = 'May I?') => {
    const id = await newRequest(from, to, message)
    await call(`/conversations/requests/${id}/approve`, { key: to.key, method: 'POST' })
    return id
  }
  /** Creates a key, without those of earlier rows: an account can have 20. */
  const newKey = async (account: Member) => {
    await env.DB.prepare(`DELETE FROM api_keys WHERE account_id = ? AND label = 'row'`)
      .bind(account.id)
      .run()
    const body = { label: 'row' }
    return (await call('/me/keys', { key: account.key, body })).key.id as string
  }
  const moderation = await createModeration({ admin, call, join, newPost, newPerson, olga })
  await makeModerator(others.moderator.id, 'general')
  const newSession = async (id = 'general_p1') => {
    await admin(`/agents/scout/sessions/${id}`, snapshot, 'PUT')
    return id
  }

  const { createShutOut, ...newPeople } = createPeople({
    admin,
    sendClaim: (request) => send(claimHub.app, request),
    newName: () => `claimed${++people}`,
  })

  const hubApi = createHubApi(() => hub.context())
  await hub.createWindows()
  const start = async (agentId: AccountId) => {
    const activationId = hub.clock.newId<ActivationId>()
    const now = hub.clock.now()
    const answer = await hubApi.load({
      agentId,
      activationId,
      now,
      capacity: 50,
      canExplore: false,
    })
    if (answer.kind !== 'loaded') throw new Error(`Not loaded: ${JSON.stringify(answer)}`)
    await env.DB.prepare('UPDATE activations SET deadline_at = deadline_at + 864e5 WHERE id = ?')
      .bind(activationId)
      .run()
    return activationId
  }

  // An activation of scout that is running, asked for by olga.
  const postId = await newPost(olga, '@scout what do we know?')
  const activationId = await start(scout.id)
  const log = [
    woken(activationId),
    loaded({ prompt: [{ role: 'user', text: canaries.trace }] }),
    answered({ text: canaries.trace, calls: [requested('c1', 'hub_search', canaries.trace)] }),
    returned('c1', { arguments: canaries.trace, text: canaries.trace }),
  ]
  for (const each of [hub, privateHub]) each.seen.readRunLog = async () => toStoredLog(log)

  // An activation of wren that waits for an approval, asked for by olga.
  await newPost(olga, '@wren please write')
  const parkedId = await start(wren.id)
  const parked = await hubApi.park({
    agentId: wren.id,
    activationId: parkedId,
    now: hub.clock.now(),
    iterations: 1,
    approvals: [
      {
        callId: 'call-1',
        tool: 'hub_create_post',
        grant: 'hub:write',
        tier: 'write',
        arguments: JSON.stringify({ title: canaries.approval }),
        argumentsHash: 'hash',
      },
    ],
    usage: [usageOf(30, 3)],
    tools: [],
    trace: toStoredLog([woken(parkedId)]),
    model: 'offline/extractive',
  })
  if (parked.kind !== 'parked') throw new Error(`Not parked: ${JSON.stringify(parked)}`)

  const ownRunId = await createOwnAccountRun(
    { agentId: scout.id, requesterId: piet.id, postId, now: hub.clock.now() },
    canaries.ownAccount,
  )

  const auditId = hub.clock.newId<string>()
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO audit_log (id, account_id, call_id, tool, "grant", arguments_hash, arguments, decision,
         outcome, duration_ms, result_bytes, created_at)
       VALUES (?, ?, 'call-1', 'hub_search', 'hub:read', 'hash', ?, 'allowed', 'ok', 5, 9, ?)`,
    ).bind(auditId, scout.id, JSON.stringify({ query: canaries.audit }), hub.clock.now()),
    env.DB.prepare('UPDATE agent_definitions SET created_by = ?').bind(olga.id),
  ])

  await admin('/agents/wren/activate', { task: canaries.task })
  const conversationId = await newConversation(piet, olga, canaries.dm)
  const requestId = await newRequest(await newPerson(), olga, canaries.request)
  const othersPostId = await newPost(piet)
  const commentId = await newComment(olga, othersPostId)
  const othersCommentId = await newComment(piet, postId)
  const sessionId = await newSession()
  const communityName = 'orchard'
  await call('/communities', { key: olga.key, body: { name: communityName } })
  await call(`/communities/${communityName}/members/lis`, {
    key: olga.key,
    method: 'PUT',
    body: {},
  })
  const places = await createPlaces(call, { olga, piet, scout, listed: others.listed })
  const { budgets } = await call('/budgets', { key: adminKey })
  const week = { scope: 'agent', name: 'wren', period: 'week', limit_microusd: 5 }
  const weekBudget = (await admin('/budgets', week)).budget
  const dayBudget = (await admin('/budgets', { ...week, period: 'day' })).budget

  const services = await createServices(callModule)
  const findAsset = () => findStylesheet(hub)
  const { token }: { token: string } = await callModule(
    'POST',
    `/activations/${activationId}/token`,
    {},
  )
  const all = { ...others, ...(await createShutOut(join)) }
  const runners = createRunners(hub, admin)
  const { api_key: runnerKey } = await runners.newRunnerKey()
  const requesters = await createRequesters(hub, { olga, scout }, all, token, runnerKey)

  return {
    hub,
    privateHub,
    fetchHub,
    fetchModule,
    listRoutes,
    requesters,
    others,
    olga,
    piet,
    scout,
    wren,
    tit,
    newOwnedAgent,
    releaseAgents,
    postId,
    othersPostId,
    commentId,
    othersCommentId,
    communityName,
    sessionId,
    auditId,
    ...places,
    activationId,
    parkedId,
    ownRunId,
    approvalId: `${parkedId}:call-1`,
    conversationId,
    requestId,
    budgetId: budgets[0].id as string,
    weekBudgetId: weekBudget.id as string,
    dayBudgetId: dayBudget.id as string,
    ...moderation,
    newPost,
    newComment,
    newPerson,
    newRequest,
    newConversation,
    newKey,
    newSession,
    ...createWaysToSignIn(hub, piet, () => requesters.toBrowserHeaders('owner', 'olga')),
    ...newPeople,
    ...createRules([hub, privateHub], { agentId: wren.id }, admin),
    ...services,
    ...runners,
    newPrivateRun: () => createPrivateRun(scout.id, piet.id),
    newPublicRun: () => createPublicRun(scout.id, piet.id),
    newReplay: () => createReplay(scout.id, piet.id),
    newTrial: () => createTrial(tit.id, olga.id),
    newOpenTrial: () => createOpenTrial(tit.id, olga.id),
    newRunOf: (agentId: string) => createPublicRun(agentId, olga.id),
    newSet: () => createSet(tit.id, olga.id),
    newSetName: makeRoomForSet,
    newCase: async () => {
      const setId = await createSet(tit.id, olga.id)
      return { id: await createCase(setId, tit.id, olga.id), setId }
    },
    call,
    callModule,
    findAsset,
  }
}

export type World = Awaited<ReturnType<typeof createWorld>>

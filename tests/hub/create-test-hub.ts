import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { createModelApi, createSchedulesApi } from '../../src/agents/agent-api'
import type {
  AgentApi,
  DefinitionCheck,
  DefinitionFiles,
  ExplorationOutcome,
} from '../../src/agents/contract/agents'
import { agentForms } from '../../src/agents/definitions/agent-form'
import { listToolsOf } from '../../src/agents/definitions/check-definition'
import { templates } from '../../src/agents/definitions/templates'
import { createModelRegistry, listModelAddresses } from '../../src/agents/models/registry'
import { listReads, readAnswer, readQuestion } from '../../src/agents/replay/read-record'
import { toOtlp } from '../../src/agents/run/otlp'
import { findRunLogProblem, openRun } from '../../src/agents/run/record'
import { createRunnerControl } from '../../src/agents/runners/runners-object'
import { createHub } from '../../src/hub/app'
import { extendBudgetWindows, findExpiringBudgets } from '../../src/hub/budgets/actions'
import type { ModelConnection } from '../../src/hub/contract/hub'
import { createContext } from '../../src/hub/database/action-context'
import type { HubDeps, Machine } from '../../src/hub/http/hub-env'
import { createRateLimiter } from '../../src/hub/http/rate-limiter'
import { createMediaStore } from '../../src/hub/media/media-store'
import { createArchiveStore } from '../../src/hub/operations/archive-format'
import type { ConnectedAccountsApi } from '../../src/mcp-servers/contract/connected-accounts'
import type { ModelAdminApi } from '../../src/mcp-servers/contract/model-admin'
import type { ToolAdminApi } from '../../src/mcp-servers/contract/tool-admin'
import { createCipher } from '../../src/mcp-servers/credentials/cipher'
import { isToolExcluded } from '../../src/mcp-servers/gateway/decide'
import { listKnownTools } from '../../src/mcp-servers/gateway/known-tools'
import { createModelStore } from '../../src/mcp-servers/models/model-store'
import { createMailSender } from '../../src/mcp-servers/outbox/mail-sender'
import { createWebhookSender } from '../../src/mcp-servers/outbox/webhook-sender'
import { createPushSender } from '../../src/mcp-servers/push-sender'
import { servers } from '../../src/mcp-servers/servers'
import { createTriggerSecrets } from '../../src/mcp-servers/triggers'
import { run } from '../../src/shared/db/batch'
import { type AccountId, type ActivationId, type Clock, uuidV7 } from '../../src/shared/ids'
import { createLog } from '../../src/shared/log'
import { readSettings } from '../../src/shared/settings'
import { sendRefusalPage } from '../../src/web/frame/send-page'
import { registerPages } from '../../src/web/register-pages'
import { asDeployed, type FindFault } from '../support/platform-database'
import { toDeployedEnv } from '../support/platform-env'
import { runInvocation } from '../support/platform-invocation'
import { onlyReadable } from '../support/readable-statements'
import { type CallOptions, toInit } from './call-options'
import { checkAnswer, checkPage } from './check-answer'
import { createConnections } from './create-connections'
import { createFakeKnowledge } from './create-fake-knowledge'
import { createFakePrivateMemory } from './create-fake-private-memory'
import { createFakeSessions } from './create-fake-sessions'
import { createFakeTransfer } from './create-fake-transfer'
import { fakeExplain } from './fake-explain'
import { findPlan } from './find-plan'

export const adminKey = 'test_admin_key_0123456789'

/** 32 bytes, as ROOKERY_VAULT_KEY is. */
const testVaultKey = `${'A'.repeat(42)}E=`

/** The header with the address of a test's client. */
export const addressHeader = 'x-client-address'
let addresses = 0
const createAddress = () => {
  const n = ++addresses
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
}

const deployed = toDeployedEnv(env)

/** Response of an API call; `body` is parsed JSON. */
export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
  headers: Headers
}

/** The pages of credentials and remote servers are tested on the whole Worker. */
const noToolAdmin = {} as ToolAdminApi
const noAccounts = {} as ConnectedAccountsApi
const noModelAdmin = {} as ModelAdminApi

/** Creates a hub on the test's D1 database, with a manual clock and fakes that record calls in `seen`. */
export function createTestHub(given: Record<string, string> = {}) {
  const settings = readSettings({
    ROOKERY_ADMIN_KEY: adminKey,
    ROOKERY_PUBLIC: 'true',
    ROOKERY_REGISTRATION: 'open',
    ROOKERY_ORIGIN: 'http://hub.test',
    ROOKERY_CLIENT_ADDRESS_HEADER: addressHeader,
    ...given,
  })
  const seen = {
    /** Faults of the database; none unless a test sets it. */
    findFault: (() => null) as FindFault,
    /** The machine of `npm start`; null: nothing answers for it. */
    machine: null as Machine | null,
    /** Where the sessions of the database started. */
    databaseSessions: [] as string[],
    /** Runs before a file of the archive is written; can throw. */
    beforePut: async (_key: string) => {},
    knowledge: createFakeKnowledge(),
    /** Times at which posts and comments become news. */
    news: [] as number[],
    /** Times for which a sweep was asked. */
    sweepsAt: [] as number[],
    woken: [] as AccountId[],
    armed: 0,
    heard: [] as ExplorationOutcome[],
    disarmed: [] as number[],
    published: [] as { topic: string; event: unknown }[],
    kept: [] as { name: string; etag: string; files: DefinitionFiles }[],
    keepDefinition: (async () => {}) as AgentApi['saveDefinition'],
    readDefinition: null as AgentApi['readDefinition'] | null,
    checkModel: (async (_agent, model) => model) as AgentApi['checkModel'],
    listUsableTools: (async (_agent, tools) => tools) as AgentApi['listUsableTools'],
    check: (() => ({ ok: false, problems: [] })) as (
      files: DefinitionFiles,
      connections?: readonly ModelConnection[],
    ) => DefinitionCheck | Promise<DefinitionCheck>,
    wake: async (_id: AccountId) => {},
    cancel: (async () => false) as AgentApi['cancel'],
    deletedFiles: [] as AccountId[],
    wokenLanes: [] as ActivationId[],
    cancelledLanes: [] as ActivationId[],
    deletedLanes: [] as ActivationId[],
    findReplayProblem: (() => null) as AgentApi['replays']['findReplayProblem'],
    findParting: (() => null) as AgentApi['replays']['findParting'],
    listReads,
    readJudge: (() => null) as AgentApi['replays']['readJudge'],
    failsToDeleteFiles: false,
    privateMemory: createFakePrivateMemory(),
    deletedTexts: [] as Parameters<AgentApi['deleteTexts']>[],
    disconnected: [] as { id: AccountId; tags: string[] }[],
    logged: [] as string[],
    readRunLog: (async () => null) as AgentApi['readRunLog'],
    watch: (async () => new Response(null, { status: 503 })) as AgentApi['watch'],
    countSockets: (async () => 0) as AgentApi['countSockets'],
    readPatch: (async () => null) as AgentApi['readPatch'],
    sessions: createFakeSessions(),
    transfer: createFakeTransfer(),
    explain: fakeExplain,
    tools: listKnownTools(servers),
  }
  const archive = createArchiveStore(deployed.FILES)
  let now = Date.UTC(2026, 0, 1)
  const clock: Clock & { advance(ms: number): void } = {
    now: () => now,
    newId: <Id extends string>() => uuidV7(now, crypto.getRandomValues(new Uint8Array(10))) as Id,
    advance: (ms) => {
      now += ms
    },
  }
  const agents: AgentApi = {
    wake: async (id) => {
      await seen.wake(id)
      seen.woken.push(id)
    },
    readState: async () => ({
      state: 'asleep',
      activationId: null,
      doing: null,
      reason: null,
      nextAt: null,
      plan: null,
      publicPlan: null,
      text: null,
    }),
    readRunLog: (...of) => seen.readRunLog(...of),
    watch: (...of) => seen.watch(...of),
    readPatch: (...of) => seen.readPatch(...of),
    cancel: (...of) => seen.cancel(...of),
    deleteTexts: async (...of) => {
      seen.deletedTexts.push(of)
    },
    deleteFiles: async (id) => {
      if (seen.failsToDeleteFiles) throw new Error('The bucket is down.')
      seen.deletedFiles.push(id)
    },
    disconnect: async (id, tags) => {
      seen.disconnected.push({ id, tags })
    },
    announceStop: async () => {},
    endTurns: async () => {},
    countSockets: (...of) => seen.countSockets(...of),
    openRun,
    findRunLogProblem,
    toOtlp: (trace) => toOtlp(trace, { hub: 'Test', hasContent: false }),
    checkDefinition: async (files, connections) => seen.check(files, connections),
    sessions: seen.sessions,
    privateMemory: seen.privateMemory,
    knowledge: seen.knowledge,
    schedules: createSchedulesApi('Rookery'),
    forms: agentForms,
    checkModel: (agent, model) => seen.checkModel(agent, model),
    listUsableTools: (agent, tools) => seen.listUsableTools(agent, tools),
    listToolsOf: (files, tools) => listToolsOf(files, tools, isToolExcluded),
    templates,
    models: createModelApi({ settings, models: createModelRegistry(settings), now: clock.now }),
    runners: createRunnerControl(deployed.RUNNERS),
    replays: {
      wakeLane: async (id) => void seen.wokenLanes.push(id),
      cancelLane: async (id) => void seen.cancelledLanes.push(id),
      deleteLane: async (id) => void seen.deletedLanes.push(id),
      findParting: (...of) => seen.findParting(...of),
      findReplayProblem: (record) => seen.findReplayProblem(record),
      readAnswer,
      readQuestion,
      listReads: (record) => seen.listReads(record),
      readJudge: (connections) => seen.readJudge(connections),
    },
    transfer: seen.transfer,
    readDefinition: async (name, etag) =>
      seen.readDefinition
        ? seen.readDefinition(name, etag)
        : (seen.kept.find((each) => each.name === name && each.etag === etag)?.files ?? null),
    saveDefinition: async (name, etag, files) => {
      seen.kept.push({ name, etag, files })
      await seen.keepDefinition(name, etag, files)
    },
    deleteDefinition: async (name, etag) => {
      seen.kept = seen.kept.filter((each) => each.name !== name || each.etag !== etag)
    },
  }
  const deps: HubDeps = {
    pages: (app, routes) =>
      registerPages(app, routes, {
        toolAdmin: noToolAdmin,
        modelAdmin: noModelAdmin,
        accounts: noAccounts,
        docs: deployed.DOCS,
      }),
    archive: {
      put: async (key, bytes) => {
        await seen.beforePut(key)
        await archive.put(key, bytes)
      },
      get: (...of) => archive.get(...of),
      list: (...of) => archive.list(...of),
      delete: (...of) => archive.delete(...of),
    },
    media: createMediaStore(deployed.FILES),
    binding: asDeployed(onlyReadable(env.DB), (sql) => seen.findFault(sql), seen.databaseSessions),
    renderErrorPage: sendRefusalPage,
    readMachine: async () => seen.machine ?? Promise.reject(new Error('It does not answer.')),
    rateLimiter: createRateLimiter(deployed.RATE_COUNTERS),
    settings,
    clock,
    agents,
    scheduler: {
      arm: async () => ++seen.armed,
      disarm: async (token, newsAt) => {
        seen.disarmed.push(token)
        if (newsAt !== null) seen.news.push(newsAt)
      },
      ensureStarted: async () => {},
      reportOutcome: async (news) => {
        seen.heard.push(news)
      },
      sweepAt: async (at) => void seen.sweepsAt.push(at),
      announceNews: async (at) => void seen.news.push(at),
      sweepNow: async () => {},
      reset: async () => {},
      explain: async (question) => seen.explain(question, now),
      readSweepAge: async () => 12,
    },
    live: {
      publish: async (topic, event) => {
        seen.published.push({ topic, event })
        return true
      },
    },
    models: createModelStore(listModelAddresses(settings)),
    mail: createMailSender({ settings, vaultKeys: [testVaultKey] }),
    webhooks: createWebhookSender({ cipher: createCipher([testVaultKey]), clock }),
    triggerSecrets: createTriggerSecrets([testVaultKey]),
    connected: createConnections(clock, testVaultKey),
    push: createPushSender({ vaultKeys: [testVaultKey], origins: ['https://hub.test'] }),
    get tools() {
      return seen.tools
    },
    log: createLog({
      level: 'trace',
      redact: (text) => text,
      now: clock.now,
      write: (_level, line) => seen.logged.push(line),
    }),
  }
  const app = createHub(deps)
  /** Creates a context for actions and APIs outside of a request. */
  const context = () => createContext(deps, (work) => void deferred.push(work))
  const deferred: Promise<unknown>[] = []
  /** Waits for what such actions do after they have answered. */
  const settle = async () => {
    for (let work = deferred.shift(); work; work = deferred.shift()) await work
  }
  /** Sends a request to any URL, from an address of its own unless the header names one. */
  const request = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const execution = createExecutionContext()
    const sent = new Request(url, init)
    if (!sent.headers.has(addressHeader)) sent.headers.set(addressHeader, createAddress())
    return runInvocation(async () => {
      const response = await app.fetch(sent, env, execution)
      await waitOnExecutionContext(execution)
      await checkPage(response)
      return response
    }, findPlan(sent))
  }
  const fetchHub = (path: string, init?: RequestInit) => request(`http://hub.test${path}`, init)
  const call = async (path: string, options: CallOptions = {}): Promise<Answer> => {
    const init = toInit(options)
    const response = await fetchHub(`/api/v1${path}`, init)
    const { status, headers } = response
    const text = await response.text()
    const body = text ? JSON.parse(text) : null
    checkAnswer(init.method ?? 'GET', path, status, body)
    return { status, headers, body }
  }
  /** Registers an account and returns its id and key. */
  const join = async (name: string, kind: 'agent' | 'human' = 'agent') => {
    const { body } = await call('/accounts', { key: adminKey, body: { name, kind } })
    return { id: body.account.id as AccountId, key: body.account.api_key as string, name }
  }
  /** Makes an account a hosted agent that answers mentions and replies, without a minimum interval. */
  const host = async (id: AccountId, fields: { answersReplies?: number } = {}) => {
    await env.DB.prepare(
      `INSERT INTO agents (account_id, definition_version, definition_etag, model, grants, answers_replies, interval_ms, updated_at)
       VALUES (?, 1, 'etag', 'offline/extractive', '["hub:read"]', ?, 0, 0)`,
    )
      .bind(id, fields.answersReplies ?? 1)
      .run()
  }
  /** Creates the windows of the budgets that the hub has, as its first sweep does. */
  const createWindows = async () => {
    const { db } = context()
    await extendBudgetWindows(db, await run(db, findExpiringBudgets(now)), now)
  }
  return {
    app,
    context,
    settle,
    call,
    fetch: fetchHub,
    request,
    join,
    host,
    createWindows,
    seen,
    clock,
  }
}

export type TestHub = ReturnType<typeof createTestHub>

/** Reads `round_trips` and `rows_read` from the Server-Timing header of a response. */
export function readCost(headers: Headers): { roundTrips: number; rowsRead: number } {
  const text = headers.get('server-timing') ?? ''
  const read = (name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1])
  return { roundTrips: read('round_trips'), rowsRead: read('rows_read') }
}

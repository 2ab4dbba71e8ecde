import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import {
  type ClientContext,
  client,
  methods,
  type NewSessionResponse,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
} from '@agentclientprotocol/sdk'
import { at, hubServer } from '../profiles/profile.ts'
import type { Relay } from './relay.ts'

/** A program that speaks the Agent Client Protocol. */
export interface AcpProgram {
  /** Opens the session: an earlier one where the program has it, else a new one. */
  open(session: SessionFacts): Promise<{ id: string; isLoaded: boolean }>
  /** @returns the result of `session/prompt` */
  prompt(id: string, text: string): Promise<Record<string, unknown>>
  cancel(id: string): Promise<void>
  close(): void
}

export interface SessionFacts {
  cwd: string
  relay: Pick<Relay, 'url' | 'key'>
  meta: Record<string, unknown> | undefined
  /** An earlier session of this place. */
  earlier: string | null
}

export interface AcpHandlers {
  /** Updates of the turn, in order. */
  onUpdate(update: Record<string, unknown>): void
  /** Whether the program may do what it asks to do. */
  mayDo(call: Record<string, unknown>): boolean
}

/** Connects to the program's standard streams. */
export function connectAcp(
  child: ChildProcessWithoutNullStreams,
  handlers: AcpHandlers,
): AcpProgram {
  let isReplay = false
  const app = client({ name: 'rookery-runner' })
    .onNotification(methods.client.session.update, ({ params }) => {
      // A loaded session repeats what it has; that was reported once.
      if (!isReplay) handlers.onUpdate(params.update as unknown as Record<string, unknown>)
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) =>
      answerPermission(params, handlers.mayDo({ ...params.toolCall })),
    )
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  )
  const connection = app.connect(stream)
  connection.closed.catch(() => undefined)
  const { agent } = connection
  return {
    async open(session) {
      const facts = await agent.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: { session: { notices: {} } },
        clientInfo: { name: 'rookery-runner', version: '1' },
      })
      const canLoad = at(facts, 'agentCapabilities', 'loadSession') === true
      if (session.earlier !== null && canLoad) {
        isReplay = true
        const loaded = await loadSession(agent, session, session.earlier)
        isReplay = false
        if (loaded) return { id: session.earlier, isLoaded: true }
      }
      const created = await agent.request<NewSessionResponse>(
        methods.agent.session.new,
        toParams(session),
      )
      return { id: created.sessionId, isLoaded: false }
    },
    async prompt(id, text) {
      const prompt = [{ type: 'text' as const, text }]
      const result = await agent.request<PromptResponse>(methods.agent.session.prompt, {
        sessionId: id,
        prompt,
      })
      return { ...result }
    },
    cancel: (id) => agent.notify(methods.agent.session.cancel, { sessionId: id }),
    close: () => connection.close(),
  }
}

const toParams = ({ cwd, relay, meta }: SessionFacts) => ({
  cwd,
  mcpServers: [
    {
      type: 'http' as const,
      name: hubServer,
      url: `${relay.url}/mcp`,
      headers: [{ name: 'Authorization', value: `Bearer ${relay.key}` }],
    },
  ],
  ...(meta && { _meta: meta }),
})

/** Returns whether the program has the session. */
async function loadSession(
  agent: ClientContext,
  session: SessionFacts,
  sessionId: string,
): Promise<boolean> {
  try {
    await agent.request(methods.agent.session.load, { ...toParams(session), sessionId })
    return true
  } catch {
    return false
  }
}

function answerPermission({ options }: RequestPermissionRequest, isAllowed: boolean) {
  const kinds = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const option = kinds.map((kind) => options.find((each) => each.kind === kind)).find(Boolean)
  return {
    outcome: option
      ? { outcome: 'selected' as const, optionId: option.optionId }
      : { outcome: 'cancelled' as const },
  }
}

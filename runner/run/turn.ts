import type { RunReport } from '../../src/shared/runner-protocol.ts'
import { at, hubServer } from '../profiles/profile.ts'

type Update = Record<string, unknown>
type Note = Extract<RunReport, { kind: 'text' | 'reasoning' }>['kind']

const textMax = 20_000
const answerMax = 100_000
/** Pieces of text are joined for so long, so that a report is more than a word. */
const joinMs = 250

/** Reads the updates of one turn: reports them, and keeps what the answer is. */
export class Turn {
  readonly #report: (report: RunReport) => void
  readonly #calls = new Map<string, { title: string; status: string; isHubTool: boolean }>()
  #chars = 0
  #answer = ''
  #messageId: unknown
  #buffer = ''
  #kind: Note = 'text'
  #timer: NodeJS.Timeout | undefined

  constructor(report: (report: RunReport) => void) {
    this.#report = report
  }

  /** Characters of all updates together. */
  get chars(): number {
    return this.#chars
  }

  /** The last message after the last tool call. */
  get answer(): string {
    return this.#answer.trim().slice(0, answerMax)
  }

  read(update: Update): void {
    this.#chars += JSON.stringify(update).length
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        this.#readMessage(update)
        break
      case 'agent_thought_chunk':
        this.#write('reasoning', textOf(update))
        break
      case 'tool_call':
      case 'tool_call_update':
        this.#readCall(update)
        break
      case 'plan':
        this.#readPlan(update)
        break
      case 'notice':
        this.#notice(String(at(update, 'message') ?? at(update, 'title') ?? ''))
    }
  }

  /** Whether a call is one of the hub's tools, by what was said of it before. */
  isHubTool(call: Update): boolean {
    return isOfHub(call) || this.#calls.get(String(call.toolCallId))?.isHubTool === true
  }

  /** Reports the text that still waits. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (let rest = this.#buffer; rest !== ''; rest = rest.slice(textMax)) {
      this.#report({ kind: this.#kind, text: rest.slice(0, textMax) })
    }
    this.#buffer = ''
  }

  #readMessage(update: Update): void {
    const text = textOf(update)
    // A repeated request gives its text again, as another message.
    if (update.messageId !== undefined && update.messageId !== this.#messageId) {
      this.flush()
      this.#answer = ''
    }
    this.#messageId = update.messageId
    if (this.#answer.length < 2 * answerMax) this.#answer += text
    this.#write('text', text)
  }

  #write(kind: Note, text: string): void {
    if (text === '') return
    if (kind !== this.#kind) this.flush()
    this.#kind = kind
    this.#buffer += text
    if (this.#buffer.length >= textMax) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), joinMs)
  }

  #readCall(update: Update): void {
    this.flush()
    const id = String(update.toolCallId ?? '').slice(0, 200)
    const known = this.#calls.get(id)
    if (!known) this.#answer = ''
    const title = String(update.title ?? known?.title ?? 'tool').slice(0, 500)
    const status = toStatus(update.status) ?? known?.status ?? 'running'
    const isHubTool = isOfHub(update) || known?.isHubTool === true
    this.#calls.set(id, { title, status, isHubTool })
    if (known?.status === status && known.title === title) return
    this.#report({
      kind: 'tool',
      call_id: id,
      title,
      status: status as 'running' | 'completed' | 'failed',
      is_builtin: !isHubTool,
    })
  }

  #readPlan(update: Update): void {
    this.flush()
    const entries = Array.isArray(update.entries) ? update.entries.slice(0, 100) : []
    const steps = entries.map((entry) => ({
      title: String(at(entry, 'content') ?? '').slice(0, 500),
      status: planStatus[String(at(entry, 'status'))] ?? 'pending',
    }))
    this.#report({ kind: 'plan', steps })
  }

  #notice(text: string): void {
    if (text !== '') this.#report({ kind: 'notice', text: text.slice(0, 2_000) })
  }
}

const planStatus: Record<string, 'pending' | 'running' | 'completed'> = {
  in_progress: 'running',
  completed: 'completed',
}

const textOf = (update: Update): string => String(at(update, 'content', 'text') ?? '')

function toStatus(status: unknown): 'running' | 'completed' | 'failed' | undefined {
  if (status === 'completed' || status === 'failed') return status
  return status === 'pending' || status === 'in_progress' ? 'running' : undefined
}

/** Each program names tools of a server in its own way. */
function isOfHub(call: Update): boolean {
  if (at(call, 'rawInput', 'server') === hubServer) return true
  const names = [call.name, call.title, at(call, '_meta', 'claudeCode', 'toolName')]
  return names.some(
    (name) =>
      typeof name === 'string' &&
      new RegExp(`^(mcp[_.]+)?${hubServer}\\W|^(mcp__)?${hubServer}_`).test(name),
  )
}

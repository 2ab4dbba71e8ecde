import type { LaneCall } from '../../hub/contract/hub'
import { cutText } from '../../shared/cut-text'
import type { LoopEvent } from '../loop/event'
import type { NotedCall } from './lane-store'
import { listCalls } from './recorded-run'

/** Returns the answered calls of a lane, in the order in which its model asked for them. */
export function listLaneCalls(events: LoopEvent[], noted: Map<string, NotedCall>): LaneCall[] {
  return listCalls(events).flatMap(({ step, call }) => {
    const note = noted.get(call.callId)
    if (!note) return []
    const ran = events.find(
      (event) => event.type === 'tool_returned' && event.callId === call.callId,
    )
    const returned = ran?.type === 'tool_returned' ? ran : undefined
    return [
      {
        step,
        tool: call.name,
        arguments: returned?.arguments ?? call.arguments,
        isError: returned?.isError === true,
        ...note,
      },
    ]
  })
}

/** Characters of the arguments that a sentence quotes. */
const quotedChars = 200

type Arguments = Partial<Record<string, unknown>>

/** What calls of the hub's own tools do, from their arguments. */
const deeds: Record<string, (args: Arguments) => string> = {
  hub_create_post: ({ community, title, content }) =>
    `created a post in m/${quote(community).replace(/^m\//i, '')} titled "${quote(title || content)}"`,
  hub_create_comment: ({ post_id: post, content }) =>
    `commented in the thread ${quote(post)}: "${quote(content)}"`,
  hub_vote: ({ value, post_id: post, comment_id: comment }) =>
    `voted ${quote(value)} on ${quote(post ?? comment)}`,
  hub_send_dm: ({ to, message }) => `sent a message to ${quote(to)}: "${quote(message)}"`,
  memory_remember_fact: ({ text }) => `remembered "${quote(text)}"`,
  memory_forget_fact: ({ id }) => `deleted the fact ${quote(id)}`,
  memory_add_task: ({ text }) => `added the task "${quote(text)}"`,
  memory_complete_task: ({ id }) => `completed the task ${quote(id)}`,
  memory_update_plan: () => 'updated the plan',
}

/** Returns what a call that writes does, as the end of a sentence that begins with "have". */
export function describeDeed(tool: string, raw: string): string {
  const describe = Object.hasOwn(deeds, tool) ? deeds[tool] : undefined
  const args = describe && parseArguments(raw)
  return args ? describe(args) : `called ${tool} with ${quote(raw)}`
}

const quote = (value: unknown): string =>
  cutText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), quotedChars)

function parseArguments(raw: string): Arguments | null {
  try {
    const parsed: unknown = JSON.parse(raw)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Arguments) : null
  } catch {
    return null
  }
}

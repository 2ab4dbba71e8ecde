import * as z from 'zod'
import type {
  Actor,
  ConversationApi,
  NotWoken,
  Question,
  QuestionProgress,
} from '../../../hub/contract/hub'
import { askLimits, limits } from '../../../shared/config'
import { shortenText } from '../../../shared/cut-text'
import { AppError } from '../../../shared/errors'
import type { CommentId, ConversationId, PostId } from '../../../shared/ids'
import { addMentions } from '../../../shared/markdown/add-mentions'
import { defineTool } from '../../tool/define-tool'
import { accountInput, communityInput, postIdInput } from '../inputs'
import { excerptToBytes, toUrl } from '../shapes'

/** A part of a result's 50 KiB. */
const ANSWER_BYTES_MAX = 40 * 1024

const input = z
  .strictObject({
    agent: accountInput.optional(),
    question: z.string().trim().min(1).max(limits.comment.contentCharsMax).optional(),
    community: communityInput
      .optional()
      .describe('Ask in a new post of this community, which others read; default: ask privately'),
    post_id: postIdInput.optional().describe('Ask in this thread instead'),
    link: z
      .string()
      .max(500)
      .optional()
      .describe('The link of an earlier call: wait on for its answer, without any other argument'),
    wait_seconds: z
      .number()
      .min(0)
      .max(askLimits.waitMs / 1000)
      .default(askLimits.waitMs / 1000)
      .describe('How long to wait for the answer'),
  })
  .refine(({ link, agent, question }) => (link ? !agent && !question : agent && question), {
    message: 'Must have agent and question, or only the link of an earlier call',
  })
  .refine(({ community, post_id }) => !(community && post_id), {
    message: 'Must not have both community and post_id',
  })

type Input = z.output<typeof input>

/** A question that stands in the hub, with the path of its page. */
interface Asked {
  question: Question
  link: string
  notWoken: NotWoken[]
}

export const ask = defineTool({
  name: 'ask',
  description:
    'Ask an agent or a person and wait for the answer: privately, or with community or post_id in ' +
    'public. Returns the answer with its link, or after two minutes the link alone; call it again ' +
    'with that link to wait on.',
  input,
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  isForOutside: true,
  actsAs: {
    tools: ['hub_create_post', 'hub_create_comment', 'hub_send_dm'],
    of: ({ link, community, post_id: postId }) => {
      if (link) return null
      if (community) return 'hub_create_post'
      return postId ? 'hub_create_comment' : 'hub_send_dm'
    },
  },
  doing: 'waiting for an answer',
  timeoutMs: askLimits.waitMs + askLimits.marginMs,
  async run({ input, actor, hub, signal, progress }) {
    const asked = input.link ? readLink(input.link) : await write(hub, actor, input)
    const { notWoken, link } = asked
    const found = await waitForAnswer({ hub, actor, signal, progress }, asked, input.wait_seconds)
    return { ...present(found, link), ...(notWoken.length > 0 && { not_woken: notWoken }) }
  },
})

async function write(hub: ConversationApi, actor: Actor, asked: Input): Promise<Asked> {
  const { agent = '', question = '', community, post_id: postId } = asked
  if (!community && !postId) {
    if (actor.kind !== 'human') throw askErrors.wakesNobody(agent)
    const { conversationId } = await hub.sendDm(actor, { to: agent, message: question })
    return { question: { conversationId }, link: `/dm/${conversationId}`, notWoken: [] }
  }
  const name = agent.toLowerCase()
  const content = addMentions(question, [name])
  if (community) {
    const title = toTitle(question)
    const { id, notWoken } = await hub.createPost(actor, { community, title, content })
    return { question: { postId: id, commentId: null, name }, link: toUrl(id), notWoken }
  }
  const place = { postId: postId as PostId, parentId: null, content }
  const { id, notWoken } = await hub.createComment(actor, place)
  const link = `${toUrl(place.postId)}#c-${id}`
  return { question: { postId: place.postId, commentId: id, name }, link, notWoken }
}

/** Returns the first line of a question, as far as it fits into a title. */
const toTitle = (question: string): string => {
  const [line = ''] = question.split('\n')
  return shortenText(line, 120)
}

/** Returns the question that a link of an earlier call names. @throws VALIDATION */
function readLink(link: string): Asked {
  const [, conversationId] = /\/dm\/([\w-]+)/.exec(link) ?? []
  if (conversationId) {
    const question = { conversationId: conversationId as ConversationId }
    return { question, link: `/dm/${conversationId}`, notWoken: [] }
  }
  const [path, postId, commentId] = /\/p\/([\w-]+)(?:#c-([\w-]+))?/.exec(link) ?? []
  if (!path || !postId) throw askErrors.noLink()
  const place = {
    postId: postId as PostId,
    commentId: (commentId as CommentId | undefined) ?? null,
  }
  return { question: place, link: path, notWoken: [] }
}

interface Waiting {
  hub: ConversationApi
  actor: Actor
  signal: AbortSignal
  progress(text: string): void
}

/** Reads how far the answer is until it is there, there will be none, or the time is up. */
async function waitForAnswer(
  { hub, actor, signal, progress }: Waiting,
  { question }: Asked,
  seconds: number,
): Promise<QuestionProgress> {
  let waitedMs = 0
  for (let attempt = 0; ; attempt++) {
    const found = await hub.findAnswer(actor, question)
    if (!found) throw askErrors.nobodyAsked()
    const leftMs = seconds * 1000 - waitedMs
    if (found.state === 'answered' || found.state === 'ended' || leftMs <= 0) return found
    progress(`${describe(found)} (${Math.round(waitedMs / 1000)} s)`)
    const pauseMs = Math.min(leftMs, askLimits.pollMs * 1.2 ** attempt, askLimits.pollMsMax)
    await pause(pauseMs, signal)
    waitedMs += pauseMs
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const describe = ({ name, state }: QuestionProgress): string =>
  ({
    waiting: `${name} has not started yet`,
    running: `${name} is working`,
    parked: `${name} waits for an approval`,
    answered: `${name} has answered`,
    ended: `${name} will not answer`,
  })[state]

function present(found: QuestionProgress, link: string) {
  const { name, state, answer, reason, activationId } = found
  const run = activationId && { run: `/activations/${activationId}` }
  if (answer) {
    const isPrivate = link.startsWith('/dm/')
    return {
      state,
      from: name,
      answer: excerptToBytes(answer.content, ANSWER_BYTES_MAX),
      url: isPrivate ? link : `${link.replace(/#[\s\S]*/, '')}#c-${answer.id}`,
      ...run,
    }
  }
  const next =
    state === 'ended' ? { reason } : { next: 'Call hub_ask with this link to wait for the answer.' }
  return { state, from: name, link, ...next, ...run }
}

const askErrors = {
  wakesNobody: (agent: string) =>
    new AppError('FORBIDDEN', 'A private message by an agent wakes no agent.', {
      hint: `Ask ${agent} in a community: give community or post_id.`,
    }),
  noLink: () =>
    new AppError('VALIDATION', 'The link is not one of hub_ask.', {
      hint: 'Give the link that an earlier call returned, such as /p/<id> or /dm/<id>.',
    }),
  nobodyAsked: () =>
    new AppError('NOT_FOUND', 'You asked nobody there.', {
      hint: 'The link must be of your own question, and the account that it mentions must exist.',
    }),
}

import * as z from 'zod'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { cancelReplay, listReplays, previewReplay, readReplay, startReplay } from './actions'
import {
  presentPromise,
  presentReplay,
  presentSummary,
  promiseAnswer,
  replayAnswer,
  startedAnswer,
  summaryAnswer,
} from './answers'
import { readCaller, toCaller } from './callers'
import { replayInput } from './inputs'

const route = routesOf('agents')

export const replayRoutes: Route[] = [
  route({
    method: 'post',
    path: '/activations/:id/replays',
    summary:
      'Replays a run with its definition and with a draft of another, for people who see its prompts. Nobody else sees anything of it, and it writes nothing. Cost comes from the budgets of whoever asks and from that of replays',
    access: 'write',
    status: 202,
    body: replayInput,
    answer: startedAnswer,
    handle: async (call) => {
      const { context, body } = call
      const done = await startReplay(context, call.actor(), toCaller(call), call.param('id'), body)
      return presentIdempotent(call, done, (replay) => ({ replay }))
    },
  }),
  route({
    method: 'post',
    path: '/activations/:id/replays/preview',
    summary:
      'Returns what a replay would run, what it can cost at most, which budgets pay, and why it cannot start; it starts nothing',
    access: 'write',
    allowsMuted: true,
    body: replayInput,
    answer: z.object({ promise: promiseAnswer }),
    handle: async (call) => {
      const promise = await previewReplay(call.context, toCaller(call), call.param('id'), call.body)
      return { promise: presentPromise(promise) }
    },
  }),
  route({
    method: 'get',
    path: '/activations/:id/replays',
    summary: 'Lists the replays of a run, newest first, for people who see its prompts',
    access: 'own',
    answer: z.object({ replays: z.array(summaryAnswer) }),
    handle: async (call) => {
      const rows = await listReplays(call.context, await readCaller(call), call.param('id'))
      return { replays: rows.map(presentSummary) }
    },
  }),
  route({
    method: 'get',
    path: '/replays/:id',
    summary:
      'Returns a replay with its lanes, beside what happened, for people who see the prompts of its run',
    access: 'own',
    answer: z.object({ replay: replayAnswer }),
    handle: async (call) => ({
      replay: presentReplay(
        await readReplay(call.context, await readCaller(call), call.param('id')),
      ),
    }),
  }),
  route({
    method: 'post',
    path: '/replays/:id/cancel',
    summary: 'Cancels a replay: its lanes end within their current model call',
    access: 'write',
    allowsMuted: true,
    answer: startedAnswer,
    handle: async (call) => {
      const done = await cancelReplay(call.context, call.actor(), toCaller(call), call.param('id'))
      return presentIdempotent(call, done, (replay) => ({ replay }))
    },
  }),
]

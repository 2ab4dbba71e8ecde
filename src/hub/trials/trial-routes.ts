import * as z from 'zod'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { readCaller, toCaller } from '../replays/callers'
import {
  cancelTrial,
  judgeCase,
  listTrials,
  previewTrial,
  readBlindCase,
  readTrial,
  startTrial,
} from './trial-actions'
import {
  blindAnswer,
  cancelledTrialAnswer,
  judgedAnswer,
  listedTrialAnswer,
  presentBlind,
  presentListedTrial,
  presentTrial,
  presentTrialPromise,
  startedTrialAnswer,
  trialAnswer,
  trialPromiseAnswer,
} from './trial-answers'
import { trialInput, verdictInput } from './trial-inputs'

const route = routesOf('agents')

export const trialRoutes: Route[] = [
  route({
    method: 'post',
    path: '/sets/:id/trials',
    summary:
      'Runs all cases of a set with the active definition and with a draft of another, for people who may edit the agent. Nobody else sees anything of it, and it writes nothing. Cost comes from the budgets of whoever asks and from that of replays',
    access: 'write',
    status: 202,
    body: trialInput,
    answer: startedTrialAnswer,
    handle: async (call) => {
      const { context, body } = call
      const done = await startTrial(context, call.actor(), toCaller(call), call.param('id'), body)
      return presentIdempotent(call, done, ({ promise, ...trial }) => ({
        trial: { ...trial, promise: presentTrialPromise(promise) },
      }))
    },
  }),
  route({
    method: 'post',
    path: '/sets/:id/trials/preview',
    summary:
      'Returns what a trial would run, what it can cost at most, which budgets pay, and why it cannot start; it starts nothing',
    access: 'write',
    allowsMuted: true,
    body: trialInput,
    answer: z.object({ promise: trialPromiseAnswer }),
    handle: async (call) => {
      const promise = await previewTrial(call.context, toCaller(call), call.param('id'), call.body)
      return { promise: presentTrialPromise(promise) }
    },
  }),
  route({
    method: 'get',
    path: '/sets/:id/trials',
    summary: 'Lists the trials of a set, newest first, for people who may edit its agent',
    access: 'own',
    answer: z.object({ trials: z.array(listedTrialAnswer) }),
    handle: async (call) => {
      const rows = await listTrials(call.context, await readCaller(call), call.param('id'))
      return { trials: rows.map(presentListedTrial) }
    },
  }),
  route({
    method: 'get',
    path: '/trials/:id',
    summary:
      'Returns a trial with its cases and what can be said of it, for people who may edit its agent. Words of a case are there for whoever sees all of its run',
    access: 'own',
    answer: z.object({ trial: trialAnswer }),
    handle: async (call) => ({
      trial: presentTrial(await readTrial(call.context, await readCaller(call), call.param('id'))),
    }),
  }),
  route({
    method: 'post',
    path: '/trials/:id/cancel',
    summary: 'Cancels a trial: what runs ends within its current model call',
    access: 'write',
    allowsMuted: true,
    answer: cancelledTrialAnswer,
    handle: async (call) => {
      const done = await cancelTrial(call.context, call.actor(), toCaller(call), call.param('id'))
      return presentIdempotent(call, done, (trial) => ({ trial }))
    },
  }),
  route({
    method: 'get',
    path: '/trials/:id/blind',
    summary:
      'Returns the next two answers that people have to compare, in an order that does not say where they come from',
    access: 'own',
    query: z.object({ case: z.string().optional().describe('The id of one case.') }),
    answer: blindAnswer,
    handle: async (call) => {
      const { context, query } = call
      const caller = await readCaller(call)
      return presentBlind(await readBlindCase(context, caller, call.param('id'), query.case))
    },
  }),
  route({
    method: 'post',
    path: '/trials/:id/cases/:case_id/verdict',
    summary:
      'Saves which of two answers is better, in the order in which you were shown them. It counts before what checks and a judge say',
    access: 'write',
    allowsMuted: true,
    body: verdictInput,
    answer: judgedAnswer,
    handle: async (call) => {
      const [trialId, caseId] = [call.param('id'), call.param('case_id')]
      const { says } = call.body
      const done = await judgeCase(
        call.context,
        call.actor(),
        toCaller(call),
        trialId,
        caseId,
        says,
      )
      return presentIdempotent(call, done, (saved) => ({ case: saved }))
    },
  }),
]

import type { RunnerApi } from '../contract/coding-agents'
import type { RunnerControl } from '../contract/runners'
import { toRunnerRequest } from './runner-request'
import type { RunnersObjectBase } from './runners-object'

type Runners = DurableObjectNamespace<RunnersObjectBase<unknown>>

/** One object for all runners: a run goes to whichever is free. */
const getObject = (namespace: Runners) => namespace.getByName('runners')

/** Creates the API through which agents' objects use runners. */
export const createRunnerApi = (namespace: Runners): RunnerApi => ({
  start: async (run) => getObject(namespace).start(run),
  stop: async (run, reason) => getObject(namespace).stop(run, reason),
  forgetSessions: async (sessionIds) => getObject(namespace).forgetSessions(sessionIds),
})

/** Creates the API through which the hub shows and controls runners. */
export const createRunnerControl = (namespace: Runners): RunnerControl => ({
  connect: (connection, request) =>
    getObject(namespace).fetch(toRunnerRequest(connection, request)),
  list: async () => getObject(namespace).list(),
  setDraining: async (runnerId, isDraining) =>
    getObject(namespace).setDraining(runnerId, isDraining),
  remove: async (runnerId) => getObject(namespace).remove(runnerId),
  disconnect: async (tags) => getObject(namespace).disconnect(tags),
  announceStop: async () => getObject(namespace).announceStop(),
})

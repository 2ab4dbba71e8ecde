import { DurableObject, env } from 'cloudflare:workers'
import { afterAll } from 'vitest'
import worker, {
  AgentObject,
  LiveObject,
  RateCounterObject,
  ReplayObject,
  RunnersObject,
  SchedulerObject,
} from '../../src/worker'
import { countFetches, toDeployedEnv } from './platform-env'
import {
  createInvocation,
  type Invocation,
  type InvocationLimits,
  type InvocationScope,
  runInScope,
} from './platform-invocation'

const objectClasses = [
  AgentObject,
  SchedulerObject,
  RunnersObject,
  ReplayObject,
  LiveObject,
  RateCounterObject,
]

/**
 * Gives the Worker of this isolate and its objects the limits of a deployed one until the end of the test file, and
 * returns their invocations, oldest first. Call it before the first request: the Worker composes its app from the
 * bindings that it sees first, and its objects use that app.
 */
export function runWorkerAsDeployed(limits: InvocationLimits): Invocation[] {
  const invocations: Invocation[] = []
  const start = (name: string): Invocation => {
    const invocation = createInvocation(name)
    invocations.push(invocation)
    return invocation
  }
  afterAll(countFetches())
  wrapHandlers((name) => ({ current: start(name), limits }))
  for (const objectClass of objectClasses) {
    wrapObjects(objectClass, limits, (method) => start(`${objectClass.name}.${method}`))
  }
  return invocations
}

/** Passes the wrapped bindings to the handlers of the Worker, and starts an invocation with each event. */
function wrapHandlers(open: (name: string) => InvocationScope): void {
  const { fetch, scheduled } = worker
  const deployed = toDeployedEnv(env as Env)
  worker.fetch = (request, _env, ctx) =>
    runInScope(open(toName(request)), () => fetch(request, deployed, ctx))
  worker.scheduled = (event) => runInScope(open('scheduled'), () => scheduled(event, deployed))
}

/** Starts an invocation with each call, alarm and message that an object of the class receives. */
function wrapObjects(
  objectClass: { name: string; prototype: DurableObject },
  limits: InvocationLimits,
  start: (method: string) => Invocation,
): void {
  const scopes = new WeakMap<object, InvocationScope>()
  for (const [prototype, name, method] of listMethods(objectClass.prototype)) {
    Reflect.set(prototype, name, function (this: object, ...values: unknown[]) {
      const scope = scopes.get(this) ?? { current: createInvocation(name), limits }
      scopes.set(this, scope)
      scope.current = start(name)
      return runInScope(scope, () => Reflect.apply(method, this, values))
    })
    // Classes that the Worker extends are those of the next file, too.
    afterAll(() => void Reflect.set(prototype, name, method))
  }
}

function listMethods(prototype: object): [object, string, CallableFunction][] {
  if (prototype === DurableObject.prototype) return []
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(
    ([name, { value }]): [object, string, CallableFunction][] =>
      name !== 'constructor' && typeof value === 'function' ? [[prototype, name, value]] : [],
  )
  return [...own, ...listMethods(Object.getPrototypeOf(prototype))]
}

/** Returns the method and path of a request, without ids. */
const toName = ({ method, url }: Request): string =>
  `${method} ${new URL(url).pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id')}`

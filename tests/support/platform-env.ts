import { asDeployed } from './platform-database'
import { countSubrequest } from './platform-invocation'

/** Names of the bindings through which the Worker calls other services. */
type ServiceName = {
  [Name in keyof Env]: Env[Name] extends string ? never : Name
}[keyof Env]

/** Returns the bindings as deployed: each call through them is a subrequest of its invocation, which has limits. */
export function toDeployedEnv<Bindings extends Env>(bindings: Bindings): Bindings {
  // a new binding is a type error here until it is counted
  const services: Pick<Env, ServiceName> = {
    DB: asDeployed(bindings.DB),
    DOCS: countCalls(bindings.DOCS),
    FILES: countCalls(bindings.FILES),
    RATE_READ: countCalls(bindings.RATE_READ),
    RATE_WRITE: countCalls(bindings.RATE_WRITE),
    RATE_SEARCH: countCalls(bindings.RATE_SEARCH),
    RATE_UPLOAD: countCalls(bindings.RATE_UPLOAD),
    RATE_CONNECT: countCalls(bindings.RATE_CONNECT),
    AGENTS: countObjectCalls(bindings.AGENTS),
    SCHEDULER: countObjectCalls(bindings.SCHEDULER),
    LIVE: countObjectCalls(bindings.LIVE),
    RATE_COUNTERS: countObjectCalls(bindings.RATE_COUNTERS),
    RUNNERS: countObjectCalls(bindings.RUNNERS),
    REPLAYS: countObjectCalls(bindings.REPLAYS),
  }
  return { ...bindings, ...services }
}

/** Counts each request to the internet too, for the whole isolate. Returns what ends that. */
export function countFetches(): () => void {
  const send = globalThis.fetch
  globalThis.fetch = async (...request: Parameters<typeof fetch>) => {
    countSubrequest('fetch')
    return send(...request)
  }
  return () => {
    globalThis.fetch = send
  }
}

type Method = (...values: unknown[]) => unknown

/** Returns a service each of whose methods is one subrequest. */
const countCalls = <Service extends object>(service: Service): Service =>
  wrapMethods(service, (method) => async (...values) => {
    countSubrequest('binding')
    return method(...values)
  })

/** Returns Durable Objects each call of which is one subrequest; finding one is none. */
const countObjectCalls = <Namespace extends object>(namespace: Namespace): Namespace =>
  wrapMethods(namespace, (method, name) => (...values) => {
    const found = method(...values)
    if (name === 'jurisdiction') return countObjectCalls(found as object)
    return name === 'get' || name === 'getByName' ? countCalls(found as object) : found
  })

const wrapMethods = <Target extends object>(
  target: Target,
  wrap: (method: Method, name: string | symbol) => Method,
): Target =>
  new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return wrap((...values) => Reflect.apply(member, target, values), name)
    },
  })

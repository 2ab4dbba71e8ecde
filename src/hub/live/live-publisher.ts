import { liveLimits, rateCounting } from '../../shared/config'
import type { LivePublisher } from '../action-context'
import type { LiveEvent } from '../contract/live-event'
import type { LiveObject } from './live-object'
import { toLiveRequest } from './live-request'
import { SocketCounts } from './socket-counts'

/** Creates the publisher of live events. Delivery is best effort: a failed publish is ignored. */
export function createLivePublisher(
  namespace: DurableObjectNamespace<LiveObject>,
): Required<LivePublisher> {
  const counts = new SocketCounts(rateCounting.subjectsMax)
  const getObject = (topic: string) => namespace.getByName(toLiveObjectName(topic))
  const listObjects = () =>
    Array.from({ length: liveLimits.objects }, (_, index) => namespace.getByName(nameOf(index)))
  return {
    publish: async (topic, event) => {
      try {
        return await getObject(topic).publish(topic, event as LiveEvent)
      } catch {
        // The watchers reload the page when they reconnect.
        return true
      }
    },
    connect: (topic, snapshot, request, tags = []) =>
      getObject(topic).fetch(toLiveRequest({ topic, snapshot, tags }, request)),
    disconnect: async (tags) => {
      await Promise.all(listObjects().map((object) => object.disconnect(tags)))
    },
    announceStop: async () => {
      await Promise.all(listObjects().map((object) => object.announceStop()))
    },
    admit: (owner, now, countOnAgents, upgrade) => {
      const count = async () => {
        const held = listObjects().map(async (object) => object.countSockets(owner.tag))
        return sum(await Promise.all([...held, countOnAgents()]))
      }
      return counts.open(owner, now, count, upgrade)
    },
  }
}

/**
 * Returns the name of the object that serves a topic: FNV-1a over its UTF-16 units, modulo the number of
 * objects.
 */
export function toLiveObjectName(topic: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < topic.length; index++) {
    hash = Math.imul(hash ^ topic.charCodeAt(index), 0x01000193)
  }
  return nameOf((hash >>> 0) % liveLimits.objects)
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

const nameOf = (index: number): string => `live-${index}`

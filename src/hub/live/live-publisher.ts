import { liveLimits } from '../../config'
import type { LivePublisher } from '../action-context'
import type { LiveEvent } from './live-event'
import type { LiveObject } from './live-object'
import { toLiveRequest } from './live-request'

/** Publishes through the live objects. What is lost on the way is lost: it was a hint. */
export function createLivePublisher(
  namespace: DurableObjectNamespace<LiveObject>,
): Required<LivePublisher> {
  const objectOf = (topic: string) => namespace.getByName(liveObjectOf(topic))
  return {
    publish: async (topic, event) => {
      try {
        await objectOf(topic).publish(topic, event as LiveEvent)
      } catch {
        // The watchers read the page again when they reconnect.
      }
    },
    connect: (topic, known, request) => objectOf(topic).fetch(toLiveRequest(topic, known, request)),
  }
}

/** The name of the object that has a topic: FNV-1a over its UTF-16 units, modulo their number. */
export function liveObjectOf(topic: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < topic.length; at++) {
    hash = Math.imul(hash ^ topic.charCodeAt(at), 0x01000193)
  }
  return `live-${(hash >>> 0) % liveLimits.objects}`
}

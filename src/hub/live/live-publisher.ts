import type { LivePublisher } from '../action-context'
import type { LiveEvent } from './live-event'
import type { LiveTopicObject } from './live-topic'

/** Publishes through the topics' Durable Objects. What is lost on the way is lost: it was a hint. */
export function createLivePublisher(
  namespace: DurableObjectNamespace<LiveTopicObject>,
): Required<LivePublisher> {
  return {
    publish: async (topic, event) => {
      try {
        await namespace.getByName(topic).publish(event as LiveEvent)
      } catch {
        // The watchers read the page again when they reconnect.
      }
    },
    connect: (topic, request) => namespace.getByName(topic).fetch(request),
  }
}

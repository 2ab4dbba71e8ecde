import { DurableObject } from 'cloudflare:workers'
export class AgentObject extends DurableObject {}
export class SchedulerObject extends DurableObject {}
export class LiveTopicObject extends DurableObject {}
export default {
  fetch: async (): Promise<Response> => new Response('ok'),
}

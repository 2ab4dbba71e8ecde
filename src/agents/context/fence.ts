// The loop fences its summaries itself, and it imports nothing from here.
export { fence } from '../loop/fence'

// Defined in loop/, which also fences summaries and must not import from context/.
export { fence } from '../loop/fence'

import { FakePlatform } from './fake-platform.ts'
const p = new FakePlatform()
console.log(JSON.stringify(await p.start()))
setInterval(() => { if (p.surprises.length) console.log(p.surprises.splice(0)) }, 200)

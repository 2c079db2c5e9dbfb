SELECT tcp.src_host, tcp.dest_host FROM tcp WHERE tcp.dest_host = 2 WINDOW 1 SECOND;

SELECT * FROM tcp, udp, sf
WHERE tcp.src_host = udp.dest_host AND udp.dest_host = sf.dest_host
WINDOW 1 SECOND;
